//! The directory in which the user types, and what commands read from the disk there.
//!
//! A run is its scenario and the choices that were made, and what is in a file is neither: the next time it may be another.
//! So what a command has read is kept, with the step in which it was, and a step that is repeated reads the same.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use engine::{Hub, Memory};

/// A file larger than this is refused unread. etcd takes 1.5 MiB an object, so this is plenty.
pub const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A text of the program's own that is larger than this is not read to its end.
const TEXT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What is said of a file outside of the folder that may be seen.
pub const OUTSIDE: &str = "this session sees no files outside of its own folder";

/// Where relative names of files start.
#[derive(Clone)]
pub struct Workdir {
    base: PathBuf,
    disk: Disk,
    kept: Option<(Hub, Memory<Kept>)>,
    /// What is read belongs to no step of the run, so going back in time does not repeat it.
    aside: bool,
}

/// The files that a session can see.
#[derive(Clone, Debug, Default)]
pub enum Disk {
    /// All of this machine.
    #[default]
    Whole,
    /// Those in this folder.
    Folder(PathBuf),
    /// Those that a page was given, where there is no disk.
    Page(PageFiles),
}

/// Files of a page, by name. Clones are the same files.
#[derive(Clone, Debug, Default)]
pub struct PageFiles(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

/// What was read, and what is to be read again.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    readings: Readings,
    /// What was read besides since the present command has begun.
    asides: Readings,
    /// What was read the last time, for a command that is typed again.
    expected: Readings,
}

/// What was read, by step and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readings(BTreeMap<(u64, String), Rc<Seen>>);

/// What a command found under a name on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The name that links lead to, if it is another.
    real: Option<String>,
    /// What is there.
    pub found: Found,
}

/// What is on the disk by some name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// A file with a text in it.
    Text(String),
    /// A file with anything else.
    #[serde(with = "as_base64")]
    Bytes(Vec<u8>),
    /// A directory.
    Directory(Listing),
    /// Nothing that can be read.
    Nothing(Unread),
}

/// The files directly in a directory, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listing {
    /// Those that are there.
    #[serde(default)]
    pub files: Vec<String>,
    /// Links to files that may be elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
}

/// Why there is nothing to be had of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Unread {
    /// There is none by this name.
    Missing,
    /// It has so many bytes, or more: too many.
    TooLarge(u64),
    /// What the system says, in small letters as Go does.
    Failed(String),
}

/// What was read by one name, as a saved session has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The name, as seen from where one types.
    pub path: String,
    /// The steps in which it was read.
    pub steps: Vec<u64>,
    /// The name that links lead to, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real: Option<String>,
    /// What was there.
    #[serde(with = "serde_yaml::with::singleton_map_recursive")]
    pub found: Found,
}

impl Workdir {
    /// A directory in which nothing is to be repeated.
    pub fn plain(base: &Path) -> Workdir {
        Workdir { base: base.to_owned(), disk: Disk::Whole, kept: None, aside: false }
    }

    /// A directory that keeps what is read in each of this hub's steps.
    pub fn kept(base: &Path, hub: &Hub) -> Workdir {
        Workdir { kept: Some((hub.clone(), hub.memory(Kept::default()))), ..Workdir::plain(base) }
    }

    /// The same for a look that is no step of the run.
    pub fn aside(&self) -> Workdir {
        Workdir { aside: true, ..self.clone() }
    }

    /// The same in another directory.
    pub fn at(&self, base: &Path) -> Workdir {
        Workdir { base: base.to_owned(), ..self.clone() }
    }

    /// The same, with these files to see.
    pub fn on(&self, disk: Disk) -> Workdir {
        Workdir { disk, ..self.clone() }
    }

    /// The directory, without links.
    pub fn place(&self) -> PathBuf {
        fs::canonicalize(&self.base).unwrap_or_else(|_| self.base.clone())
    }

    /// What is there by this name.
    pub fn look(&self, path: impl AsRef<Path>) -> Rc<Seen> {
        let place = self.place();
        let path = place.join(path);
        let Some((hub, kept)) = &self.kept else { return Rc::new(self.see(&path, &place)) };
        let key = (hub.step().0, name_from(&path, &place));
        let mut kept = kept.borrow_mut();
        let again = kept.readings.0.get(&key).filter(|_| !self.aside).or_else(|| kept.expected.0.get(&key)).cloned();
        let seen = again.unwrap_or_else(|| Rc::new(self.see(&path, &place)));
        let readings = if self.aside { &mut kept.asides } else { &mut kept.readings };
        readings.0.insert(key, seen.clone());
        seen
    }

    fn see(&self, path: &Path, place: &Path) -> Seen {
        match &self.disk {
            Disk::Folder(folder) if !lies_in(path, folder) => {
                Seen { real: None, found: Found::Nothing(Unread::Failed(OUTSIDE.to_owned())) }
            }
            Disk::Page(files) => {
                Seen { real: None, found: files.look(&plain(path.strip_prefix(place).unwrap_or(path))) }
            }
            Disk::Whole | Disk::Folder(_) => seen(path, place),
        }
    }

    /// Where links at this name lead to; the name itself if there are none.
    pub fn real(&self, path: &Path, seen: &Seen) -> PathBuf {
        self.place().join(seen.real.as_ref().map_or(path, Path::new))
    }

    /// All that was read so far.
    pub fn readings(&self) -> Readings {
        self.kept.as_ref().map(|(_, kept)| kept.borrow().readings.clone()).unwrap_or_default()
    }

    /// Takes this for all that was read so far.
    pub fn set_readings(&self, readings: Readings) {
        self.change(|kept| kept.readings = readings);
    }

    /// A command begins. If it was typed before and read this, it is to read the same.
    pub fn expect(&self, expected: Readings) {
        self.change(|kept| (kept.expected, kept.asides) = (expected, Readings::default()));
    }

    /// What was read since a command has begun, `before` which these had been read.
    pub fn read_since(&self, before: &Readings) -> Readings {
        let Kept { readings, asides, .. } = self.all();
        let mut since = readings.without(before);
        since.0.extend(asides.0);
        since
    }

    /// All of it, for a caller that goes back in time and must forget nothing.
    pub fn all(&self) -> Kept {
        self.kept.as_ref().map(|(_, kept)| kept.get()).unwrap_or_default()
    }

    /// Takes it again.
    pub fn set_all(&self, all: Kept) {
        self.change(|kept| *kept = all);
    }

    fn change(&self, change: impl FnOnce(&mut Kept)) {
        if let Some((_, kept)) = &self.kept {
            change(&mut kept.borrow_mut());
        }
    }
}

impl Disk {
    /// The folder to which it is confined, if it is.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Disk::Folder(folder) => Some(folder),
            Disk::Whole | Disk::Page(_) => None,
        }
    }
}

impl PageFiles {
    /// Puts a file there, in the place of one with the same name.
    ///
    /// # Errors
    /// It is larger than a file may be.
    pub fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), String> {
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(format!("{name}: it has more than {} MiB", FILE_BYTES_MAX >> 20));
        }
        self.all().insert(plain(Path::new(name)), bytes);
        Ok(())
    }

    /// The names that begin so, in order.
    pub fn names(&self, start: &str) -> Vec<String> {
        self.all()
            .range(start.to_owned()..)
            .map(|(name, _)| name.clone())
            .take_while(|name| name.starts_with(start))
            .collect()
    }

    /// What is there by a name without `.` and `..`.
    pub fn look(&self, name: &str) -> Found {
        let files = self.all();
        if let Some(bytes) = files.get(name) {
            return text_or_bytes(bytes.clone());
        }
        let folder = if name.is_empty() { String::new() } else { format!("{name}/") };
        let below: Vec<&str> = files.keys().filter_map(|one| one.strip_prefix(&folder)).collect();
        if below.is_empty() && !name.is_empty() {
            return Found::Nothing(Unread::Missing);
        }
        let here = below.into_iter().filter(|rest| !rest.contains('/')).map(str::to_owned);
        Found::Directory(Listing { files: here.collect(), links: Vec::new() })
    }

    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Readings {
    /// Those of the first so many steps.
    pub fn up_to(&self, steps: u64) -> Readings {
        let earlier = self.0.range(..(steps + 1, String::new()));
        Readings(earlier.map(|(key, seen)| (key.clone(), seen.clone())).collect())
    }

    /// The first step in which something else was read than in `others`.
    pub fn part_from(&self, others: &Readings) -> Option<u64> {
        let differs = |one: &Readings, other: &Readings| {
            one.0.iter().find(|(key, seen)| other.0.get(key) != Some(seen)).map(|((step, _), _)| *step)
        };
        [differs(self, others), differs(others, self)].into_iter().flatten().min()
    }

    /// Those that are not in `others`.
    fn without(&self, others: &Readings) -> Readings {
        let new = self.0.iter().filter(|(key, seen)| others.0.get(key) != Some(seen));
        Readings(new.map(|(key, seen)| (key.clone(), seen.clone())).collect())
    }

    /// What was read, each once with all its steps.
    pub fn list(&self) -> Vec<Reading> {
        let mut list: Vec<Reading> = Vec::new();
        for ((step, path), seen) in &self.0 {
            let Seen { real, found } = &**seen;
            match list.iter_mut().find(|known| known.path == *path && known.real == *real && known.found == *found) {
                Some(known) => known.steps.push(*step),
                None => {
                    let (path, real, found) = (path.clone(), real.clone(), found.clone());
                    list.push(Reading { path, steps: vec![*step], real, found });
                }
            }
        }
        list
    }

    /// The same from such a list.
    pub fn of(list: &[Reading]) -> Readings {
        let one = |reading: &Reading| {
            let seen = Rc::new(Seen { real: reading.real.clone(), found: reading.found.clone() });
            let keys = reading.steps.clone().into_iter().map(|step| (step, reading.path.clone()));
            keys.map(move |key| (key, seen.clone())).collect::<Vec<_>>()
        };
        Readings(list.iter().flat_map(one).collect())
    }
}

impl Found {
    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self, Found::Directory(_))
    }
}

/// Looks at the disk.
fn seen(path: &Path, place: &Path) -> Seen {
    let real = fs::canonicalize(path).ok().filter(|real| real != path).map(|real| name_from(&real, place));
    let found = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => listing(path).map(Found::Directory),
        Ok(_) => bytes_of(path).map(text_or_bytes),
        Err(error) => Err(why(&error)),
    };
    Seen { real, found: found.unwrap_or_else(Found::Nothing) }
}

fn text_or_bytes(bytes: Vec<u8>) -> Found {
    match String::from_utf8(bytes) {
        Ok(text) => Found::Text(text),
        Err(error) => Found::Bytes(error.into_bytes()),
    }
}

/// A name without `.`, `..` and a slash at its start.
fn plain(path: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    parts.join("/")
}

fn listing(path: &Path) -> Result<Listing, Unread> {
    let mut listing = Listing::default();
    for entry in fs::read_dir(path).map_err(|error| why(&error))?.flatten() {
        // What is no text cannot be named.
        let (Ok(name), Ok(sort)) = (entry.file_name().into_string(), entry.file_type()) else { continue };
        match sort.is_file() {
            true => listing.files.push(name),
            false if sort.is_symlink() && entry.path().is_file() => listing.links.push(name),
            false => {}
        }
    }
    listing.files.sort();
    listing.links.sort();
    Ok(listing)
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Unread> {
    let file = open(path).map_err(|error| why(&error))?;
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    if length > FILE_BYTES_MAX {
        return Err(Unread::TooLarge(length));
    }
    let bytes = read_within(file, FILE_BYTES_MAX).map_err(|error| why(&error))?;
    bytes.ok_or(Unread::TooLarge(FILE_BYTES_MAX))
}

/// All that can be read, none if it is more than so many bytes: a pipe, or a device, may have no end.
fn read_within(from: impl io::Read, most: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    // One byte more than allowed, to notice.
    from.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// The text of something of the program's own, such as a saved session; it may have 256 MiB.
pub fn text_from(from: impl io::Read) -> io::Result<String> {
    let bytes = read_within(from, TEXT_BYTES_MAX)?.ok_or_else(|| io::Error::other("it has more than 256 MiB"))?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text"))
}

/// The same of a file.
pub fn text_in(path: impl AsRef<Path>) -> io::Result<String> {
    text_from(open(path.as_ref())?)
}

/// Opens a file to read it. A pipe that a shell makes of `<(command)` may be read too; one that stands somewhere by its
/// name is no file, and to open it may take for ever; and what a device has may have no end.
fn open(path: &Path) -> io::Result<fs::File> {
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file() || metadata.is_dir());
    if !is_file && fs::canonicalize(path).is_ok() {
        return Err(io::Error::other("it is no file, but a device or a pipe"));
    }
    fs::File::open(path)
}

/// Whether a name leads to something in this folder, however it is written, and wherever links lead.
pub fn lies_in(path: &Path, folder: &Path) -> bool {
    let Ok(folder) = fs::canonicalize(folder) else { return false };
    let mut plain = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    // Of what is not there the folder counts in which it would be.
    let there = plain.ancestors().find_map(|above| fs::canonicalize(above).ok());
    plain.starts_with(&folder) && there.is_some_and(|there| there.starts_with(&folder))
}

/// Whether what is there can be read only once: a pipe, such as a shell makes of `<(command)`.
pub fn is_read_once(path: impl AsRef<Path>) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

fn why(error: &io::Error) -> Unread {
    match error.kind() {
        io::ErrorKind::NotFound => Unread::Missing,
        io::ErrorKind::PermissionDenied => Unread::Failed("permission denied".to_owned()),
        _ => Unread::Failed(error.to_string()),
    }
}

/// A path as seen from `place`, if it lies there.
fn name_from(path: &Path, place: &Path) -> String {
    path.strip_prefix(place).unwrap_or(path).to_string_lossy().into_owned()
}

/// Bytes that are no text, in a file that is one.
mod as_base64 {
    use object::base64;
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&base64::encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        base64::decode(&text).map_err(|at| de::Error::custom(format!("character {at} is not of base64")))
    }
}
