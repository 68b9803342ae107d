//! Keys that stand twice in one mapping, found where they stand. The reader of YAML tells of the first, but with the place at
//! which its mapping begins; Go's tells the line of the key.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

/// What an error begins with that is about one; the key follows, as Go's `%#v` shows it.
pub const TWICE: &str = "duplicate entry with key ";

/// A document in which no key stands twice. The error of reading one with such a key is that of the key.
pub struct OnceEach;

impl<'de> Deserialize<'de> for OnceEach {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OnceEach, D::Error> {
        deserializer.deserialize_any(Nodes(None)).map(|()| OnceEach)
    }
}

/// A node: a key, if the keys that stand before it in its mapping are given.
struct Nodes<'a>(Option<&'a mut BTreeSet<String>>);

impl Nodes<'_> {
    fn note<E: Error>(self, key: String) -> Result<(), E> {
        match self.0 {
            Some(known) if known.contains(&key) => Err(E::custom(format!("{TWICE}{key}"))),
            Some(known) => {
                known.insert(key);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Nodes<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nodes<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.note("<nil>".to_owned())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.note(value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.note(value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.note(value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.note(value.to_string())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.note(format!("{value:?}"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<OnceEach>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut keys = BTreeSet::new();
        while fields.next_key_seed(Nodes(Some(&mut keys)))?.is_some() {
            fields.next_value::<OnceEach>()?;
        }
        Ok(())
    }

    fn visit_enum<A: EnumAccess<'de>>(self, tagged: A) -> Result<(), A::Error> {
        let (IgnoredAny, content) = tagged.variant()?;
        content.newtype_variant::<OnceEach>().map(drop)
    }
}
