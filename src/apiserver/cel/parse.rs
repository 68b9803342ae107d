//! From text to a tree. Mirrors `parser/gen/CEL.g4` and `parser/parser.go` of cel-go.
//!
//! No crate does it: those there are keep maps in an order that differs between processes, abort where brackets lie deep
//! in each other, or lead a parser generator with them for a page of grammar.
//!
//! Left out: after the first error of the grammar the real parser guesses and goes on, and may tell of more.

use super::lex::{Lexeme, Token, tokens};
use super::macros::{self, Expanded};
use super::report::Wrong;
use super::tree::{Is, Node};
use super::value::Value;

/// How deep the parts of an expression may lie in each other: they are gone through on the stack of whoever asks. The real
/// limit is 250.
const DEPTH_MAX: usize = 120;
/// How many characters an expression may have. Mirrors `expressionSizeCodePointLimit`.
const CHARACTERS_MAX: usize = 100_000;
/// With what an expression can begin, in the words of the real parser.
const BEGINNINGS: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, \
    STRING, BYTES, IDENTIFIER}";
/// Words that cannot be names: those of the language, and those that are kept for later versions of it.
pub const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];
/// Operators with two sides, those that bind loosest first. All bind to the left.
const BINARY: &[&[&str]] =
    &[&["||"], &["&&"], &["<", "<=", ">=", ">", "==", "!=", "in"], &["+", "-"], &["*", "/", "%"]];

/// The tree of `source`, or what is wrong with it.
pub fn parse(source: &str) -> Result<Node, Wrong> {
    let size = source.chars().count();
    if size > CHARACTERS_MAX {
        let text = format!("expression code point size exceeds limit: size: {size}, limit {CHARACTERS_MAX}");
        return Err(Wrong { at: 0, text });
    }
    let mut parser = Parser { source, tokens: tokens(source)?, next: 0, open: 0 };
    let tree = parser.expression()?;
    match parser.peek() {
        Lexeme::End => Ok(tree.node),
        _ => Err(parser.unexpected("<EOF>")),
    }
}

/// A part, and how many parts lie in each other in it.
struct Tree {
    node: Node,
    depth: usize,
}

struct Parser<'t> {
    source: &'t str,
    tokens: Vec<Token>,
    next: usize,
    /// How many expressions are begun and not ended.
    open: usize,
}

impl Parser<'_> {
    fn token(&self) -> &Token {
        // The last is the end of the text, and nothing goes beyond it.
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn peek(&self) -> &Lexeme {
        &self.token().is
    }

    fn at(&self) -> usize {
        self.token().at
    }

    fn advance(&mut self) -> Token {
        let token = self.token().clone();
        self.next += 1;
        token
    }

    /// Takes one of these marks, if it comes next.
    fn take_any(&mut self, marks: &[&'static str]) -> Option<&'static str> {
        match *self.peek() {
            Lexeme::Mark(mark) if marks.contains(&mark) => {
                self.next += 1;
                Some(mark)
            }
            _ => None,
        }
    }

    fn take(&mut self, mark: &'static str) -> bool {
        self.take_any(&[mark]).is_some()
    }

    fn expect(&mut self, mark: &'static str) -> Result<(), Wrong> {
        if self.take(mark) { Ok(()) } else { Err(self.unexpected(&format!("'{mark}'"))) }
    }

    fn unexpected(&self, wanted: &str) -> Wrong {
        let Token { at, end, .. } = *self.token();
        let found = if at == end { "<EOF>" } else { &self.source[at..end] };
        Wrong { at, text: format!("Syntax error: mismatched input '{found}' expecting {wanted}") }
    }

    /// `node` with the parts in it, if they do not lie too deep.
    fn above(&self, node: Node, parts: impl IntoIterator<Item = usize>) -> Result<Tree, Wrong> {
        let depth = 1 + parts.into_iter().max().unwrap_or(0);
        if depth > DEPTH_MAX {
            return Err(too_deep(node.at));
        }
        Ok(Tree { node, depth })
    }

    /// `condition ? yes : no`, or less.
    fn expression(&mut self) -> Result<Tree, Wrong> {
        if self.open == DEPTH_MAX {
            return Err(too_deep(self.at()));
        }
        self.open += 1;
        let condition = self.binary(0)?;
        let at = self.at();
        let tree = if self.take("?") {
            let yes = self.binary(0)?;
            self.expect(":")?;
            let no = self.expression()?;
            let depths = [condition.depth, yes.depth, no.depth];
            self.above(Node::call(at, "_?_:_", vec![condition.node, yes.node, no.node]), depths)?
        } else {
            condition
        };
        self.open -= 1;
        Ok(tree)
    }

    /// Operands, and the operators between them that bind at least as tightly as this level of [`BINARY`].
    fn binary(&mut self, loosest: usize) -> Result<Tree, Wrong> {
        let mut tree = self.unary()?;
        while let Some(level) = self.level().filter(|level| *level >= loosest) {
            let Token { at, is: Lexeme::Mark(operator), .. } = self.advance() else { break };
            let right = self.binary(level + 1)?;
            tree = match operator {
                "||" => self.chain("_||_", level, at, vec![tree, right])?,
                "&&" => self.chain("_&&_", level, at, vec![tree, right])?,
                _ => {
                    let name = if operator == "in" { "@in".to_owned() } else { format!("_{operator}_") };
                    let depths = [tree.depth, right.depth];
                    self.above(Node::call(at, &name, vec![tree.node, right.node]), depths)?
                }
            };
        }
        Ok(tree)
    }

    /// The level of the operator that comes next.
    fn level(&self) -> Option<usize> {
        let Lexeme::Mark(mark) = self.peek() else { return None };
        BINARY.iter().position(|level| level.contains(mark))
    }

    /// The rest of `a && b && …`, or of the same with `||`.
    fn chain(&mut self, name: &str, level: usize, at: usize, mut terms: Vec<Tree>) -> Result<Tree, Wrong> {
        let mut at = vec![at];
        while self.level() == Some(level) {
            at.push(self.advance().at);
            terms.push(self.binary(level + 1)?);
        }
        self.balanced(name, terms, &at)
    }

    /// `a && b && c && d` as `(a && b) && (c && d)`: it means the same, and its parts lie less deep. Mirrors `balancer`.
    fn balanced(&self, name: &str, mut terms: Vec<Tree>, at: &[usize]) -> Result<Tree, Wrong> {
        if at.is_empty() {
            return terms.pop().ok_or_else(|| self.unexpected(BEGINNINGS));
        }
        let middle = at.len() / 2;
        let right = terms.split_off(middle + 1);
        let left = self.balanced(name, terms, &at[..middle])?;
        let right = self.balanced(name, right, &at[middle + 1..])?;
        let depths = [left.depth, right.depth];
        self.above(Node::call(at[middle], name, vec![left.node, right.node]), depths)
    }

    /// `!x`, `-x`; twice the same is none.
    fn unary(&mut self) -> Result<Tree, Wrong> {
        let at = self.at();
        let Some(operator) = self.take_any(&["!", "-"]) else { return self.member() };
        if operator == "-"
            && let Some(number) = negative(self.peek())
        {
            self.next += 1;
            let number = self.above(Node::literal(at, number), [])?;
            return self.members(number);
        }
        let mut odd = true;
        while self.take(operator) {
            odd = !odd;
        }
        let of = self.member()?;
        if !odd {
            return Ok(of);
        }
        let depth = of.depth;
        self.above(Node::call(at, &format!("{operator}_"), vec![of.node]), [depth])
    }

    fn member(&mut self) -> Result<Tree, Wrong> {
        let primary = self.primary()?;
        self.members(primary)
    }

    /// What follows a value: `.field`, `.method(…)`, `[…]`.
    fn members(&mut self, mut tree: Tree) -> Result<Tree, Wrong> {
        loop {
            let at = self.at();
            tree = match self.take_any(&[".", "[", "{"]) {
                Some(".") => self.field(at, tree)?,
                Some("[") => {
                    let name = if self.take("?") { "_[?_]" } else { "_[_]" };
                    let key = self.expression()?;
                    self.expect("]")?;
                    let depths = [tree.depth, key.depth];
                    self.above(Node::call(at, name, vec![tree.node, key.node]), depths)?
                }
                Some(_) => self.message(at, &tree)?,
                None => return Ok(tree),
            };
        }
    }

    fn field(&mut self, at: usize, of: Tree) -> Result<Tree, Wrong> {
        let optional = self.take("?");
        let Token { is, at: place, .. } = self.token().clone();
        let (name, quoted) = match is {
            Lexeme::Name(name) => (name, false),
            Lexeme::Quoted(name) => (name, true),
            _ => return Err(self.unexpected("IDENTIFIER")),
        };
        self.next += 1;
        let Tree { node, depth } = of;
        if optional {
            let field = Node::literal(place, Value::string(name));
            return self.above(Node::call(at, "_?._", vec![node, field]), [depth]);
        }
        let open = self.at();
        if !quoted && self.take("(") {
            return self.call(open, name, Some(Tree { node, depth }));
        }
        self.above(Node { at, is: Is::Select { of: Box::new(node), field: name, test: false } }, [depth])
    }

    /// The arguments of a call, whose bracket is open.
    fn call(&mut self, at: usize, name: String, target: Option<Tree>) -> Result<Tree, Wrong> {
        let arguments = self.list(")", Parser::expression)?;
        let depth = arguments.iter().map(|argument| argument.depth).max().unwrap_or(0);
        let target_depth = target.as_ref().map_or(0, |target| target.depth);
        let target = target.map(|target| Box::new(target.node));
        let args = arguments.into_iter().map(|argument| argument.node).collect();
        let Expanded { node, target_deeper, args_deeper } = macros::expand(at, name, target, args)?;
        self.above(node, [depth + args_deeper, target_depth + target_deeper])
    }

    /// Items up to `end`, with commas between them; one may follow the last of a list or map.
    fn list<T>(
        &mut self,
        end: &'static str,
        mut item: impl FnMut(&mut Self) -> Result<T, Wrong>,
    ) -> Result<Vec<T>, Wrong> {
        let mut items = Vec::new();
        while !self.take(end) {
            items.push(item(self)?);
            if !self.take(",") {
                self.expect(end)?;
                break;
            }
            if end == ")" && matches!(self.peek(), Lexeme::Mark(")")) {
                return Err(self.unexpected(BEGINNINGS));
            }
        }
        Ok(items)
    }

    fn primary(&mut self) -> Result<Tree, Wrong> {
        let at = self.at();
        match self.peek() {
            Lexeme::Literal(value) => {
                let node = Node::literal(at, value.clone());
                self.next += 1;
                self.above(node, [])
            }
            Lexeme::LeastInt => Err(Wrong { at, text: "invalid int literal".to_owned() }),
            Lexeme::Name(_) => self.name(),
            Lexeme::Mark("(") => {
                self.next += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Lexeme::Mark("[") => {
                self.next += 1;
                let items = self.list("]", |parser| Ok((parser.take("?"), parser.expression()?)))?;
                let depth = items.iter().map(|(_, item)| item.depth).max();
                let items = items.into_iter().map(|(optional, item)| (item.node, optional)).collect();
                self.above(Node { at, is: Is::List(items) }, depth)
            }
            Lexeme::Mark("{") => {
                self.next += 1;
                let entries = self.list("}", |parser| {
                    let (optional, key) = (parser.take("?"), parser.expression()?);
                    parser.expect(":")?;
                    Ok((key, parser.expression()?, optional))
                })?;
                let depth = entries.iter().map(|(key, value, _)| key.depth.max(value.depth)).max();
                let entries = entries.into_iter().map(|(key, value, optional)| (key.node, value.node, optional));
                let node = Node { at, is: Is::Map(entries.collect()) };
                self.above(node, depth)
            }
            // A name from the root of all names, which is where those without a point are looked for too.
            Lexeme::Mark(".") => {
                self.next += 1;
                self.name()
            }
            _ => Err(self.unexpected(BEGINNINGS)),
        }
    }

    /// A name, or the call of a function.
    fn name(&mut self) -> Result<Tree, Wrong> {
        let at = self.at();
        let Lexeme::Name(name) = self.peek().clone() else { return Err(self.unexpected("IDENTIFIER")) };
        self.next += 1;
        if RESERVED.contains(&name.as_str()) {
            return Err(Wrong { at, text: format!("reserved identifier: {name}") });
        }
        let open = self.at();
        if self.take("(") {
            return self.call(open, name, None);
        }
        self.above(Node::name(at, &name), [])
    }

    /// `Type{field: value}`. No type here can be made so, which the checker says of a call with that name.
    fn message(&mut self, at: usize, of: &Tree) -> Result<Tree, Wrong> {
        let Some(name) = of.node.dotted() else {
            self.next -= 1;
            return Err(self.unexpected("<EOF>"));
        };
        self.list("}", |parser| {
            parser.take("?");
            if !matches!(parser.peek(), Lexeme::Name(_) | Lexeme::Quoted(_)) {
                return Err(parser.unexpected("IDENTIFIER"));
            }
            parser.next += 1;
            parser.expect(":")?;
            parser.expression()
        })?;
        self.above(Node::call(at, &name, Vec::new()), [of.depth])
    }
}

/// The number with a minus before it.
fn negative(lexeme: &Lexeme) -> Option<Value> {
    match lexeme {
        Lexeme::LeastInt => Some(Value::Int(i64::MIN)),
        Lexeme::Literal(Value::Int(value)) => Some(Value::Int(-value)),
        Lexeme::Literal(Value::Double(value)) => Some(Value::Double(-value)),
        _ => None,
    }
}

fn too_deep(at: usize) -> Wrong {
    Wrong { at, text: format!("expression recursion limit exceeded: {DEPTH_MAX}") }
}
