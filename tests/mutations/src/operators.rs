//! The usual ways to change a program: what each does to one place.

use std::ops::Range;

use lab::shelf::MARK;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    BinOp, Block, Expr, ExprIf, ExprMethodCall, FieldValue, ImplItemFn, ItemFn, LitBool, LitInt, ReturnType, Stmt,
};

/// Methods that are taken for one another.
const TWINS: &[(&str, &str)] = &[("any", "all"), ("min", "max"), ("first", "last"), ("is_some", "is_none")];
/// Methods that are left out: what they are called on stays.
const LEFT_OUT: &[&str] = &["filter", "rev", "take"];
const DEFAULT: &str = "Default::default()";

/// One place of a text, and what stands there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    place: Range<usize>,
    with: String,
}

impl Mutation {
    /// The changed text.
    pub fn apply(&self, text: &str) -> String {
        [&text[..self.place.start], &self.with, &text[self.place.end..]].concat()
    }

    /// In one line: where, what was there, what is.
    pub fn show(&self, text: &str) -> String {
        let line = text[..self.place.start].matches('\n').count() + 1;
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let around = words(text.lines().nth(line - 1).unwrap_or_default());
        format!("line {line}: `{}` is `{}` in `{around}`", words(&text[self.place.clone()]), words(&self.with))
    }
}

/// All mutations of what follows the mark, by place.
pub fn mutations(text: &str) -> Vec<Mutation> {
    let file = syn::parse_file(text).expect("a solution compiles");
    let mut finder = Finder { text, found: Vec::new() };
    finder.visit_file(&file);
    let start = text.find(MARK).expect("there is a mark");
    let mut found = finder.found;
    found.retain(|one| one.place.start > start && text[one.place.clone()] != one.with);
    found.sort_by(|a, b| (a.place.start, &a.place.end, &a.with).cmp(&(b.place.start, &b.place.end, &b.with)));
    found.dedup();
    found
}

struct Finder<'a> {
    text: &'a str,
    found: Vec<Mutation>,
}

impl Finder<'_> {
    fn change(&mut self, what: &impl Spanned, with: impl Into<String>) {
        self.found.push(Mutation { place: what.span().byte_range(), with: with.into() });
    }

    fn text(&self, what: &impl Spanned) -> &str {
        &self.text[what.span().byte_range()]
    }

    /// A condition: always true, never, the other way round.
    fn condition(&mut self, condition: &Expr) {
        if !has_let(condition) {
            let not = format!("!({})", self.text(condition));
            ["true".to_owned(), "false".to_owned(), not].into_iter().for_each(|with| self.change(condition, with));
        }
    }

    fn body(&mut self, output: &ReturnType, body: &Block) {
        let falls = matches!(output, ReturnType::Type(_, of) if self.text(of).starts_with("Result"));
        self.change(body, if falls { format!("{{ Ok({DEFAULT}) }}") } else { format!("{{ {DEFAULT} }}") });
    }
}

/// Whether names are bound in a condition, which something else may use.
fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}

/// What an operator is taken for.
fn instead(operator: &BinOp) -> &'static str {
    match operator {
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        BinOp::And(_) => "||",
        BinOp::Or(_) => "&&",
        BinOp::Add(_) | BinOp::Div(_) => "-",
        BinOp::Sub(_) | BinOp::Mul(_) => "+",
        BinOp::AddAssign(_) => "-=",
        BinOp::SubAssign(_) => "+=",
        _ => "+",
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_bin_op(&mut self, operator: &'ast BinOp) {
        self.change(operator, instead(operator));
    }

    fn visit_lit_int(&mut self, number: &'ast LitInt) {
        if let Ok(value) = number.base10_parse::<u64>() {
            self.change(number, format!("{}{}", value + 1, number.suffix()));
        }
    }

    fn visit_lit_bool(&mut self, literal: &'ast LitBool) {
        self.change(literal, (!literal.value).to_string());
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        if matches!(unary.op, syn::UnOp::Not(_)) {
            self.change(&unary.op, "");
        }
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_if(&mut self, one: &'ast ExprIf) {
        self.condition(&one.cond);
        visit::visit_expr_if(self, one);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            self.condition(guard);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let method = call.method.to_string();
        for (one, other) in TWINS {
            match () {
                () if method == *one => self.change(&call.method, *other),
                () if method == *other => self.change(&call.method, *one),
                () => {}
            }
        }
        if LEFT_OUT.contains(&&*method) {
            self.change(call, self.text(&call.receiver).to_owned());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        match statement {
            Stmt::Expr(Expr::Try(one), Some(_)) => {
                self.change(statement, "");
                self.change(statement, format!("let _ = {};", self.text(&one.expr)));
            }
            Stmt::Expr(_, Some(_)) | Stmt::Expr(Expr::ForLoop(_) | Expr::If(_) | Expr::While(_), None) => {
                self.change(statement, "");
            }
            _ => {}
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_field_value(&mut self, field: &'ast FieldValue) {
        self.change(field, format!("{}: {DEFAULT}", self.text(&field.member)));
        visit::visit_field_value(self, field);
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.body(&function.sig.output, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.body(&function.sig.output, &function.block);
        visit::visit_impl_item_fn(self, function);
    }
}
