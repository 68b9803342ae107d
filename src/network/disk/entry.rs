//! What the host itself has on its disk.

use std::borrow::Cow;
use std::rc::Rc;

/// What the host itself has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory.
    Directory,
    /// A file and its text.
    File(Text),
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
}

/// The text of a file. What many files have in common they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// All of it.
    Whole(Cow<'static, str>),
    /// Its own beginning and end, and what is between them.
    Around(Rc<(Box<str>, Rc<str>, Box<str>)>),
}

impl Text {
    /// All of it, put together.
    pub(super) fn read(&self) -> Cow<'_, str> {
        match self {
            Text::Whole(text) => (**text).into(),
            Text::Around(parts) => [&*parts.0, &*parts.1, &*parts.2].concat().into(),
        }
    }

    /// The text, to be changed.
    pub(super) fn whole(&mut self) -> &mut String {
        if let Text::Around(_) = self {
            *self = Text::Whole(self.read().into_owned().into());
        }
        match self {
            Text::Whole(text) => text.to_mut(),
            Text::Around(_) => unreachable!("it has just been put together"),
        }
    }
}
