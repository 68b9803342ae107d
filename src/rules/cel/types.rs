//! The types of the language, and which value may stand where.
//!
//! A type is read from its text, as declarations of functions are written here: `list(A)`, `map(string, dyn)`. Mirrors
//! `common/types` and the assignability rules of `checker/types.go` of cel-go.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What is known of a value before it is there.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "they are named as in the language")]
pub enum Type {
    /// Anything; only the running program knows.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    /// An object with known fields.
    Object(Arc<Fields>),
    /// An object that expressions make, by the name of its type: `Object.spec`, `JSONPatch`.
    Struct(Arc<str>),
    /// A type as a value.
    Type,
    Optional(Box<Type>),
    /// A type that only functions look into: `kubernetes.Quantity`.
    Opaque(&'static str),
    /// Any type, but the same one wherever the letter stands.
    Param(char),
}

/// The fields of an object, by the names that expressions use.
#[derive(Clone, Debug, PartialEq)]
pub struct Fields {
    /// What errors call the type.
    pub name: String,
    /// Its fields.
    pub fields: BTreeMap<String, Type>,
}

/// `quantity()`.
pub const QUANTITY: &str = "kubernetes.Quantity";
/// `ip()`.
pub const IP: &str = "net.IP";
/// `cidr()`.
pub const CIDR: &str = "net.CIDR";
/// `url()`.
pub const URL: &str = "kubernetes.URL";
/// `format.uri()`.
pub const FORMAT: &str = "kubernetes.NamedFormat";

/// The letter of a type that nothing tells, as that of the items of an empty list.
pub const UNKNOWN: char = '_';

/// What the letters of a declaration stand for.
pub type Letters = BTreeMap<char, Type>;

impl Type {
    /// An object with these fields.
    pub fn object(name: &str, fields: impl IntoIterator<Item = (String, Type)>) -> Type {
        Type::Object(Arc::new(Fields { name: name.to_owned(), fields: fields.into_iter().collect() }))
    }

    /// A list of these.
    pub fn list(of: Type) -> Type {
        Type::List(Box::new(of))
    }

    /// Reads a type as declarations write it.
    pub fn read(text: &str) -> Type {
        let text = text.trim();
        let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(of) = inside("list") {
            return Type::list(Type::read(of));
        }
        if let Some(of) = inside("optional") {
            return Type::Optional(Box::new(Type::read(of)));
        }
        if let Some((key, value)) = inside("map").and_then(|of| of.split_once(',')) {
            return Type::Map(Box::new(Type::read(key)), Box::new(Type::read(value)));
        }
        match text {
            "null" => Type::Null,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "duration" => Type::Duration,
            "timestamp" => Type::Timestamp,
            "type" => Type::Type,
            "quantity" => Type::Opaque(QUANTITY),
            "ip" => Type::Opaque(IP),
            "cidr" => Type::Opaque(CIDR),
            "url" => Type::Opaque(URL),
            "format" => Type::Opaque(FORMAT),
            letter if letter.len() == 1 => Type::Param(letter.chars().next().unwrap_or('A')),
            _ => Type::Dyn,
        }
    }

    /// Whether a value of this type may stand where `wanted` is declared; `letters` learns what letters stand for.
    pub fn fits(&self, wanted: &Type, letters: &mut Letters) -> bool {
        match (self, wanted) {
            (_, Type::Param(letter)) => match letters.get(letter).cloned() {
                None => {
                    letters.insert(*letter, self.clone());
                    true
                }
                // What a letter stands for may have been the less exact of two: an empty list, or a dyn.
                Some(Type::Dyn | Type::Param(_)) => {
                    letters.insert(*letter, self.clone());
                    true
                }
                Some(of) if of.is_open() && of.fits_as_is(self) => {
                    letters.insert(*letter, self.clone());
                    true
                }
                Some(of) => self.fits(&of, letters) || of.fits_as_is(self),
            },
            (Type::Dyn | Type::Param(_), _) | (_, Type::Dyn) => true,
            (
                Type::Null,
                Type::Object(_)
                | Type::Struct(_)
                | Type::Duration
                | Type::Timestamp
                | Type::Optional(_)
                | Type::Opaque(_),
            ) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => a.fits(b, letters),
            (Type::Map(a, b), Type::Map(c, d)) => a.fits(c, letters) && b.fits(d, letters),
            (a, b) => a == b,
        }
    }

    /// Whether something in it is not known yet, as the items of an empty list: the type that it meets decides.
    pub fn is_open(&self) -> bool {
        match self {
            Type::Param(_) => true,
            Type::List(of) | Type::Optional(of) => of.is_open(),
            Type::Map(key, value) => key.is_open() || value.is_open(),
            _ => false,
        }
    }

    fn fits_as_is(&self, wanted: &Type) -> bool {
        self.fits(wanted, &mut Letters::new())
    }

    /// This type with letters replaced by what they stand for; a letter that stands for nothing is anything.
    pub fn with(&self, letters: &Letters) -> Type {
        let boxed = |of: &Type| Box::new(of.with(letters));
        match self {
            Type::Param(letter) => letters.get(letter).cloned().unwrap_or(Type::Dyn),
            Type::List(of) => Type::List(boxed(of)),
            Type::Optional(of) => Type::Optional(boxed(of)),
            Type::Map(key, value) => Type::Map(boxed(key), boxed(value)),
            other => other.clone(),
        }
    }
}

impl fmt::Display for Type {
    /// As errors name it. Mirrors `checker.FormatCELType`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dyn => f.write_str("dyn"),
            Type::Null => f.write_str("null"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Uint => f.write_str("uint"),
            Type::Double => f.write_str("double"),
            Type::String => f.write_str("string"),
            Type::Bytes => f.write_str("bytes"),
            Type::Duration => f.write_str("google.protobuf.Duration"),
            Type::Timestamp => f.write_str("google.protobuf.Timestamp"),
            Type::List(of) => write!(f, "list({of})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Object(of) => f.write_str(&of.name),
            Type::Struct(name) => f.write_str(name),
            Type::Type => f.write_str("type"),
            Type::Optional(of) => write!(f, "optional_type({of})"),
            Type::Opaque(name) => f.write_str(name),
            Type::Param(UNKNOWN) => f.write_str("dyn"),
            Type::Param(letter) => write!(f, "{letter}"),
        }
    }
}

/// The names that an expression may use, with their types.
pub type Names = Vec<(String, Type)>;
