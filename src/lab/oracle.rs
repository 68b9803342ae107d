//! A learner's function in a cluster: its process is asked one question at a time, when the part of the cluster that it
//! stands for has one. It is asked as the grader asks it, and limited in the same ways.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use super::asked::Running;
use super::function::Function;

/// So long may one answer take.
const SECONDS: Duration = Duration::from_secs(2);

/// The process that answers. It is no part of the world: what is the same is answered the same.
#[derive(Clone)]
pub struct Oracle(Rc<Inner>);

struct Inner {
    program: PathBuf,
    process: RefCell<Option<Running>>,
}

impl Oracle {
    /// Of a program that was built. It is started with the first question.
    pub fn new(program: &Path) -> Oracle {
        Oracle(Rc::new(Inner { program: program.to_owned(), process: RefCell::default() }))
    }

    /// Asks one question.
    ///
    /// # Panics
    /// If there is no answer: then the process that the function is a part of has crashed. The panic says how.
    pub fn ask<F: Function>(&self, question: &F::Question) -> F::Answer {
        // Not `panic!`: nothing is to be printed.
        self.try_ask::<F>(question).unwrap_or_else(|how| std::panic::resume_unwind(Box::new(how)))
    }

    /// Asks one question.
    ///
    /// # Errors
    /// Why there is no answer.
    pub fn try_ask<F: Function>(&self, question: &F::Question) -> Result<F::Answer, String> {
        let line = serde_json::to_string(question).unwrap_or_else(|error| unreachable!("ours: {error}"));
        let answer = self.answer_to(&line)?;
        serde_json::from_str(&answer).map_err(|error| format!("{answer} is no answer: {error}"))
    }

    fn answer_to(&self, question: &str) -> Result<String, String> {
        let mut process = self.0.process.borrow_mut();
        let mut running = match process.take() {
            Some(running) => running,
            None => Running::start(&self.0.program, &[])?,
        };
        let patience = running.patience();
        let answer = match running.tell(question) {
            true => running.answer(&patience, SECONDS),
            false => None,
        };
        match answer {
            Some(answer) => {
                running.skim();
                *process = Some(running);
                Ok(answer)
            }
            None => {
                let endless = || format!("it does not come to an end: no answer within {} s", SECONDS.as_secs());
                Err(running.obituary("").unwrap_or_else(endless))
            }
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(mut running) = self.process.borrow_mut().take() {
            running.kill();
        }
    }
}
