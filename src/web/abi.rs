//! What the module exports: the only place where a name must be `no_mangle`. There are no pointers on this side: a page asks
//! where it may write a request of so many bytes ([`request`]), writes it, has it carried out ([`run`]), and reads the answer
//! ([`answer`]) of as many bytes as `run` has said. All are UTF-8.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

use super::page::Page;

/// What a panic says is the answer. Set once.
static HOOK: Once = Once::new();

/// What is passed to and fro. A module has one thread.
#[derive(Default)]
struct Desk {
    request: Vec<u8>,
    answer: Vec<u8>,
}

thread_local! {
    static DESK: RefCell<Desk> = RefCell::default();
    static PAGE: RefCell<Page> = RefCell::default();
}

/// Where a request of `length` bytes is to be written.
#[unsafe(no_mangle)]
pub extern "C" fn request(length: usize) -> usize {
    DESK.with_borrow_mut(|desk| {
        desk.request = vec![0; length];
        desk.request.as_mut_ptr() as usize
    })
}

/// Carries out the request that was written. The number of bytes of its answer.
#[unsafe(no_mangle)]
pub extern "C" fn run() -> usize {
    HOOK.call_once(|| panic::set_hook(Box::new(|panic| say(panic.to_string()))));
    let request = DESK.with_borrow_mut(|desk| std::mem::take(&mut desk.request));
    let answer = PAGE.with_borrow_mut(|page| page.answer(&String::from_utf8_lossy(&request)));
    say(answer);
    length()
}

/// How long the answer is. After a trap it is what the panic said.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    DESK.with_borrow(|desk| desk.answer.len())
}

/// Where the answer stands, until the next request.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    DESK.with_borrow(|desk| desk.answer.as_ptr() as usize)
}

fn say(text: String) {
    DESK.with_borrow_mut(|desk| desk.answer = text.into_bytes());
}
