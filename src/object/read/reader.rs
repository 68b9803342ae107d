//! The deserializer that all objects are read by.

use serde::de::value::{StrDeserializer, StringDeserializer, UnitDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::super::go_types;
use super::source::{Error, Shape, Source, Wrapped};

/// Reads the current value of a source.
pub struct Reader<'s>(pub &'s mut dyn Source);

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Error;

    /// What takes any type: an `IntOrString`, or free-form JSON. Only the first can refuse.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let result = match self.0.any(&visitor)? {
            Shape::Null => visitor.visit_unit(),
            Shape::Bool(value) => visitor.visit_bool(value),
            Shape::Integer(value) => visitor.visit_i64(value),
            Shape::Float(value) => visitor.visit_f64(value),
            Shape::String(value) => visitor.visit_string(value),
            Shape::List => visitor.visit_seq(Within(&mut *self.0)).inspect(|_| self.0.leave()),
            Shape::Map => visitor.visit_map(Within(&mut *self.0)).inspect(|_| self.0.leave()),
        };
        result.map_err(|error| match error {
            Error::Refused => self.0.refused(),
            told => told,
        })
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.0.boolean()?)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i32(self.0.int32()?)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i64(self.0.int64()?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(self.0.float()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(&self.0.string()?)
    }

    /// Only base64 fields ask this way.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(&self.0.base64()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_some() { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        match self.0.wrapped(name)? {
            Wrapped::Text(text) => {
                let text: StringDeserializer<Error> = text.into_deserializer();
                visitor.visit_newtype_struct(text)
            }
            Wrapped::Null => visitor.visit_newtype_struct(UnitDeserializer::<Error>::new()),
            Wrapped::Value => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if !self.0.enter_list() {
            return Err(self.0.wrong_type("list"));
        }
        visitor.visit_seq(Within(&mut *self.0)).inspect(|_| self.0.leave())
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if !self.0.enter_map() {
            return Err(self.0.wrong_type("map"));
        }
        visitor.visit_map(Within(&mut *self.0)).inspect(|_| self.0.leave())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if !self.0.enter_struct(name, fields) {
            return Err(self.0.wrong_type(&go_types::printed(name)));
        }
        visitor.visit_map(Within(&mut *self.0)).inspect(|_| self.0.leave())
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

/// What is in a list, a map or a struct that has been gone into.
struct Within<'s>(&'s mut dyn Source);

impl<'de> SeqAccess<'de> for Within<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.0.next_item() { seed.deserialize(Reader(&mut *self.0)).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for Within<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(key) = self.0.next_key() else { return Ok(None) };
        seed.deserialize(StrDeserializer::<Error>::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Reader(&mut *self.0))
    }
}
