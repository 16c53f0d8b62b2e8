use crate::parse::Parser;

/// What a filter reads, and how it writes. The default is JSON values as input, and two spaces a level as output.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(crate) input: Input,
    pub(crate) style: Style,
    /// Global variables, in the order in which they were set.
    pub(crate) variables: Vec<(String, Given)>,
    pub(crate) positional: Vec<String>,
    /// Whether it is an expression for rows: messages about mistakes give other advice.
    pub(crate) for_rows: bool,
    /// The most bytes of an answer; `None` for no limit.
    pub(crate) most: Option<usize>,
}

/// The value of a variable, as the caller set it.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    Json(Vec<u8>),
    Text(Vec<u8>),
}

/// How a filter reads a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Each JSON value is an input.
    #[default]
    Values,
    /// Each line is an input, a string.
    Lines,
    /// One input: an array of all values.
    AllValues,
    /// One input: a string of all bytes.
    AllText,
    /// One input: `null`. The block is not read.
    Null,
}

/// How outputs are written. Each output ends with a line feed, unless outputs are [joined](Style::join).
#[derive(Clone, Debug)]
pub struct Style {
    /// The indentation of a level; `None` writes a value on one line.
    pub indent: Option<String>,
    /// Whether the keys of objects are sorted.
    pub sort_keys: bool,
    /// Whether strings are written as they are, without quotes.
    pub raw: bool,
    /// Whether nothing separates outputs.
    pub join: bool,
    /// Whether values have the colours of a terminal.
    pub colours: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { indent: Some("  ".to_owned()), sort_keys: false, raw: false, join: false, colours: false }
    }
}

impl Options {
    /// Sets how a block is read.
    #[must_use]
    pub fn input(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    /// Sets how outputs are written.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Adds the variable `$name`, whose value is this JSON.
    ///
    /// # Errors
    ///
    /// If `json` is not exactly one value.
    pub fn variable(mut self, name: &str, json: &[u8]) -> Result<Self, String> {
        if values(json)?.len() != 1 {
            return Err("not exactly one value".to_owned());
        }
        self.variables.push((name.to_owned(), Given::Json(json.to_vec())));
        Ok(self)
    }

    /// Adds the variable `$name`, whose value is a string of these bytes. They need not be UTF-8.
    #[must_use]
    pub fn text_variable(mut self, name: &str, text: impl Into<Vec<u8>>) -> Self {
        self.variables.push((name.to_owned(), Given::Text(text.into())));
        self
    }

    /// Adds the variable `$name`, whose value is an array of these JSON values.
    ///
    /// # Errors
    ///
    /// If `json` contains anything but values.
    pub fn array_variable(self, name: &str, json: &[u8]) -> Result<Self, String> {
        let values: jaq_json::Val = values(json)?.into_iter().collect();
        // The array is a bracket more.
        self.variable(name, values.to_string().as_bytes())
    }

    /// Sets `$ARGS.positional`.
    #[must_use]
    pub fn positional(mut self, arguments: Vec<String>) -> Self {
        self.positional = arguments;
        self
    }
}

/// All values of some bytes.
fn values(json: &[u8]) -> Result<Vec<jaq_json::Val>, String> {
    let values: Result<_, crate::parse::Invalid> = Parser::new(json).values().collect();
    values.map_err(|wrong| wrong.why.to_string())
}
