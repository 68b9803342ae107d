//! Functions: how they are read, called and left.

use std::rc::Rc;

use super::invoked::of_shell;
use super::ops::{Kept, Op, Simple};
use super::parse::{self, Parser};
use super::run::{Frame, Shell, Sink, Turn, Write};
use super::script::Program;
use super::words::{Token, Unsupported, is_name};

/// Functions call each other no deeper than this.
const CALLS_MAX: usize = 200;

/// A function, or a shell, is not given more than this.
const ARGUMENTS_MAX: usize = 200;

/// Where a function's first operation is.
#[derive(Clone, Debug)]
pub(super) struct Function {
    program: Rc<Program>,
    at: usize,
}

impl Function {
    /// All of a program that ends with a return.
    pub(super) fn whole(program: Rc<Program>) -> Function {
        Function { program, at: 0 }
    }
}

/// What a shell goes back to when a function ends.
#[derive(Clone, Debug)]
pub(super) struct Call {
    program: Rc<Program>,
    at: usize,
    arguments: Vec<String>,
    /// The variables that are the function's own, and what they were before.
    locals: Vec<(String, Option<String>)>,
    output: Sink,
    errors: Sink,
    is_asked: bool,
    is_background: bool,
}

impl Parser {
    /// Whether what comes is `NAME()`, or bash's `function NAME`.
    pub(super) fn names_function(&self) -> bool {
        let is_sign = |at: usize, sign: &str| matches!(self.token(at), Some(Token::Sign(found)) if *found == sign);
        match self.keyword() {
            Some("function") => true,
            name => name.is_some_and(is_name) && is_sign(1, "(") && is_sign(2, ")"),
        }
    }

    /// `NAME() { …; }`
    pub(super) fn function(&mut self) -> Result<Vec<Op>, Unsupported> {
        self.take_keyword("function");
        let name = self.word()?.plain().filter(|name| is_name(name)).ok_or(Unsupported)?.to_owned();
        if self.take_sign("(") && !self.take_sign(")") {
            return Err(Unsupported);
        }
        self.skip_lines();
        let body = self.command()?;
        let begin = Op::Function { name, length: body.len() + 1 };
        Ok([vec![begin], body, vec![Op::Return]].concat())
    }
}

impl Shell {
    pub(super) fn define(&mut self, name: &str, length: usize) {
        let function = Function { program: self.program.clone(), at: self.at };
        Rc::make_mut(&mut self.scope.functions).insert(name.to_owned(), function);
        self.at += length;
        self.code = 0;
    }

    /// Goes on in a function, which prints there.
    pub(super) fn call(
        &mut self,
        function: Function,
        arguments: &[String],
        (mut output, mut errors): (Sink, Sink),
        simple: &Simple,
    ) -> Result<Option<Turn>, Unsupported> {
        if simple.is_job || self.calls().count() >= CALLS_MAX {
            return Err(Unsupported);
        }
        let writes: Vec<Write> = [&mut output, &mut errors].into_iter().filter_map(Sink::begin).collect();
        let call = Call {
            program: std::mem::replace(&mut self.program, function.program),
            at: std::mem::replace(&mut self.at, function.at),
            arguments: self.arguments().cloned().collect(),
            locals: Vec::new(),
            output: std::mem::replace(&mut self.scope.output, output),
            errors: std::mem::replace(&mut self.scope.errors, errors),
            is_asked: simple.is_asked,
            is_background: self.is_background(simple),
        };
        self.stack.push(Frame::Call(call));
        self.set_arguments(arguments)?;
        Ok((!writes.is_empty()).then_some(Turn::Write(writes)))
    }

    /// The script that a command runs, to be called as a function is, and its arguments: `eval WORDS` does so where the shell
    /// is, `sh -c SCRIPT` in a shell of its own.
    pub(super) fn script_among(&self, words: &[String]) -> Option<(Rc<Program>, Vec<String>)> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if !self.is_shell() {
            return None;
        }
        if let ["eval", script @ ..] = words.as_slice() {
            let program = Program::to_call(parse::parse(&script.join(" ")));
            return Some((program, self.arguments().cloned().collect()));
        }
        let (flags, script, arguments) = of_shell(&words)?;
        let options = if flags.contains('e') { "set -e" } else { "set +e" };
        let body = [parse::parse(options), parse::parse(script)].concat();
        let inner = parse::subshell(body, Kept::Not, false);
        let arguments = arguments.iter().skip(1).map(|argument| (*argument).to_owned()).collect();
        Some((Program::to_call(inner), arguments))
    }

    /// The function is at its end.
    pub(super) fn end_call(&mut self) {
        if let Some(Frame::Call(call)) = self.pop() {
            self.stop_on_error(call.is_asked);
        }
    }

    /// `return`: the function is left, from any construct in it. Outside of functions it is as `exit`.
    pub(super) fn leave_call(&mut self, code: i32) {
        let is_end = |frame: &Frame| matches!(frame, Frame::Call(_) | Frame::Subshell { .. });
        let inner = self.stack.iter().rposition(is_end);
        match inner.map(|at| (at, &self.stack[at])) {
            Some((at, Frame::Call(_))) => {
                while self.stack.len() > at + 1 {
                    self.pop();
                }
                self.code = code;
                self.end_call();
            }
            _ => self.exit(code),
        }
    }

    /// All is as it was before the call, but for what the function has done.
    pub(super) fn restore(&mut self, call: &Call) {
        let Call { program, at, arguments, locals, output, errors, .. } = call;
        (self.program, self.at) = (program.clone(), *at);
        (self.scope.output, self.scope.errors) = (output.clone(), errors.clone());
        for (name, value) in locals.iter().rev() {
            self.unset(name);
            // It was there before.
            let _ = value.as_ref().map(|value| self.set(name, value.clone()));
        }
        let _ = self.set_arguments(arguments);
    }

    /// `local NAME=VALUE`
    pub(super) fn make_local(&mut self, word: &str) -> Result<(), Unsupported> {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let before = self.scope.variables.get(name).cloned();
        let calls = self.stack.iter_mut().rev().take_while(|frame| !matches!(frame, Frame::Subshell { .. }));
        let call = calls.filter_map(|frame| if let Frame::Call(call) = frame { Some(call) } else { None }).next();
        if let Some(call) = call
            && !call.locals.iter().any(|(there, _)| there == name)
        {
            call.locals.push((name.to_owned(), before));
        }
        if is_name(name) { self.set(name, value.to_owned()) } else { Err(Unsupported) }
    }

    fn calls(&self) -> impl Iterator<Item = &Call> {
        self.stack.iter().filter_map(|frame| if let Frame::Call(call) = frame { Some(call) } else { None })
    }

    /// Whether the exit code of a function that the shell is in is tested.
    pub(super) fn is_call_asked(&self) -> bool {
        self.calls().any(|call| call.is_asked)
    }

    /// Whether this command, or a function that it is in, runs in the background, so that no run waits for it.
    pub(super) fn is_background(&self, simple: &Simple) -> bool {
        simple.is_background || self.calls().any(|call| call.is_background)
    }

    /// `$1`, `$2` and so on.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &String> {
        (1..).map_while(|number: usize| self.scope.variables.get(&number.to_string()))
    }

    pub(super) fn set_arguments(&mut self, arguments: &[impl AsRef<str>]) -> Result<(), Unsupported> {
        if arguments.len() > ARGUMENTS_MAX {
            return Err(Unsupported);
        }
        for number in 1..=self.arguments().count() {
            self.unset(&number.to_string());
        }
        for (at, argument) in arguments.iter().enumerate() {
            self.set(&(at + 1).to_string(), argument.as_ref().to_owned())?;
        }
        Ok(())
    }
}
