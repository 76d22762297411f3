//! A key that may be null or absent: absent takes the value of the layer below, null switches off.

use serde::{Deserialize, Deserializer};

/// A value that may be null or absent.
#[derive(Debug, Default, Clone, Copy)]
pub enum Field<T> {
    /// The key is not there.
    #[default]
    Absent,
    /// The key is null.
    Null,
    /// The key has a value.
    Value(T),
}

impl<T: Copy> Field<T> {
    /// Returns whether the key is there, be it null.
    pub const fn is_present(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    /// Returns the value, if there is one.
    pub const fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Null | Self::Absent => None,
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::deserialize(deserializer)?;
        Ok(value.map_or(Self::Null, Self::Value))
    }
}
