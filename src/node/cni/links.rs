//! The links of a network namespace.

use std::ops::Index;

use super::netns::Link;

/// Links by name, in the order of their names. Most namespaces have two, and there is one for each Pod: a list takes the
/// room that it needs, where a map has room for eleven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links(Vec<(String, Link)>);

impl Links {
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(there, _)| there.as_str().cmp(name))
    }

    /// The link of that name.
    pub fn get(&self, name: &str) -> Option<&Link> {
        self.place(name).ok().map(|at| &self.0[at].1)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Link> {
        self.place(name).ok().map(|at| &mut self.0[at].1)
    }

    /// Whether there is a link of that name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Puts a link in, instead of one that has its name.
    pub fn insert(&mut self, name: &str, link: Link) -> &mut Link {
        let at = match self.place(name) {
            Ok(at) => {
                self.0[at].1 = link;
                at
            }
            Err(at) => {
                if self.0.len() < 4 {
                    self.0.reserve_exact(1);
                }
                self.0.insert(at, (name.to_owned(), link));
                at
            }
        };
        &mut self.0[at].1
    }

    /// Takes a link out.
    pub fn remove(&mut self, name: &str) -> Option<Link> {
        self.place(name).ok().map(|at| self.0.remove(at).1)
    }

    /// Each with its name.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Link)> {
        self.0.iter().map(|(name, link)| (name, link))
    }

    /// Their names.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.iter().map(|(name, _)| name)
    }

    /// All of them.
    pub fn values(&self) -> impl Iterator<Item = &Link> {
        self.0.iter().map(|(_, link)| link)
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Link> {
        self.0.iter_mut().map(|(_, link)| link)
    }
}

impl Index<&str> for Links {
    type Output = Link;

    fn index(&self, name: &str) -> &Link {
        self.get(name).expect("a link of that name")
    }
}
