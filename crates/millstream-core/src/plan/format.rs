/// The version of the format of a written plan: the number 1, first in the text.
///
/// A format with another number is refused when it is read, with both numbers. New fields do not change the number: a
/// reader ignores those that it does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanFormat;

impl PlanFormat {
    /// The number that is written, and the only one that is read.
    pub const VERSION: u32 = 1;
}

#[cfg(feature = "serde")]
impl serde::Serialize for PlanFormat {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(Self::VERSION)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for PlanFormat {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let version = u32::deserialize(from)?;
        if version == Self::VERSION {
            return Ok(PlanFormat);
        }
        let why = format!("the plan has format {version}, and this program reads format {}", Self::VERSION);
        Err(serde::de::Error::custom(why))
    }
}
