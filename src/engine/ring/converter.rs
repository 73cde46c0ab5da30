//! Which commands convert what, and their limits: `[convert]`, or one `[[convert]]` for each.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::units::{Checked, Size, Span};

/// Which commands convert what, and their limits.
///
/// In a file it is a table, or a list with an entry for each converter; the list is the same as a
/// table with these `commands`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConvertOptions {
    /// A converter for each media type.
    pub commands: BTreeMap<String, Converter>,
    /// Time after which a command is killed.
    pub timeout: Span,
    /// Maximum memory of each of its processes.
    pub max_memory: Size,
    /// Maximum size of what it answers.
    pub max_output: Size,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self {
            commands: BTreeMap::new(),
            timeout: Span::seconds(60),
            max_memory: Size::mebibytes(2_048),
            max_output: Size::mebibytes(16),
        }
    }
}

/// A command, with limits of its own if it has any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Converter {
    /// A program and its arguments.
    pub command: Vec<String>,
    /// In place of [`ConvertOptions::timeout`].
    pub timeout: Option<Span>,
    /// In place of [`ConvertOptions::max_memory`].
    pub max_memory: Option<Size>,
    /// In place of [`ConvertOptions::max_output`].
    pub max_output: Option<Size>,
}

impl From<Vec<String>> for Converter {
    fn from(command: Vec<String>) -> Self {
        Self {
            command,
            timeout: None,
            max_memory: None,
            max_output: None,
        }
    }
}

/// What a run of a converter may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) timeout: Span,
    pub(super) max_memory: Size,
    pub(super) max_output: Size,
}

impl Converter {
    /// What it may take: its own limits, and those of all converters.
    pub(super) fn limits(&self, all: &ConvertOptions) -> Limits {
        Limits {
            timeout: self.timeout.unwrap_or(all.timeout),
            max_memory: self.max_memory.unwrap_or(all.max_memory),
            max_output: self.max_output.unwrap_or(all.max_output),
        }
    }
}

impl ConvertOptions {
    /// Refuses what cannot be run, and limits that allow nothing.
    pub fn check(&self) -> Checked {
        let is_type = |name: &String| {
            name.split_once('/').is_some_and(|(kind, rest)| {
                let is_part = |part: &str| {
                    !part.is_empty() && !part.contains(|it: char| it.is_whitespace() || it == ';')
                };
                is_part(kind) && is_part(rest)
            })
        };
        let is_empty = |it: &Converter| it.command.first().is_none_or(String::is_empty);
        let every = self.commands.values().map(|it| it.limits(self));
        let limits: Vec<Limits> = every
            .chain([Converter::from(Vec::new()).limits(self)])
            .collect();
        if !self.commands.keys().all(is_type) {
            return Err((
                "convert.commands",
                "a table from media types, such as \"application/pdf\", to commands",
            ));
        }
        if self.commands.values().any(is_empty) {
            return Err((
                "convert.commands",
                "a list of a program and its arguments for each type, such as [\"pdftotext\", \"-\", \"-\"]",
            ));
        }
        if limits.iter().any(|it| it.timeout == Span::ZERO) {
            return Err(("convert.timeout", "more than 0, for each converter too"));
        }
        if limits.iter().any(|it| it.max_memory < Size::mebibytes(16)) {
            return Err((
                "convert.max_memory",
                "at least 16 MiB, for each converter too",
            ));
        }
        if limits.iter().any(|it| it.max_output == Size(0)) {
            return Err(("convert.max_output", "more than 0, for each converter too"));
        }
        Ok(())
    }
}

/// Where programs are looked for that are named without a path.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

impl ConvertOptions {
    /// Returns what is wrong with the programs: one that is not there, or not to be run.
    pub fn missing_programs(&self) -> Option<String> {
        let is_program = |path: &Path| {
            let file = path.metadata().ok().filter(Metadata::is_file);
            file.is_some_and(|file| file.permissions().mode() & 0o111 != 0)
        };
        self.commands.iter().find_map(|(name, converter)| {
            let program = converter.command.first()?;
            let of = format!("the converter of {name}");
            if Path::new(program).is_absolute() {
                let reason = match Path::new(program) {
                    path if is_program(path) => return None,
                    path if path.exists() => "is not executable",
                    _ => "is not there",
                };
                return Some(format!("{of}: {program} {reason}"));
            }
            if program.contains('/') {
                return Some(format!(
                    "{of}: {program} is no whole path; give it from / on"
                ));
            }
            let mut places = PATH.split(':').map(|place| Path::new(place).join(program));
            let is_there = places.any(|path| is_program(&path));
            let places = PATH.replace(':', ", ");
            (!is_there).then(|| format!("{of}: {program} is not in {places}; give its whole path"))
        })
    }
}

/// A command as it is written: a list of a program and its arguments, or a line for the shell.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a command is a list of a program and its arguments, or a line for the shell"
)]
enum Command {
    List(Vec<String>),
    Line(String),
}

impl From<Command> for Vec<String> {
    fn from(command: Command) -> Self {
        match command {
            Command::List(list) => list,
            Command::Line(line) if line.trim().is_empty() => Self::new(),
            Command::Line(line) => ["/bin/sh", "-c", &line].map(str::to_owned).to_vec(),
        }
    }
}

/// A converter as it is written: a command alone, or with limits.
#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a converter is a command, or a table with `command` and its limits: `timeout`, \
                 `max_memory`, `max_output`"
)]
enum Written {
    Command(Command),
    WithLimits(WithLimits),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WithLimits {
    command: Command,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<Span>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_memory: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output: Option<Size>,
}

impl From<WithLimits> for Converter {
    fn from(written: WithLimits) -> Self {
        Self {
            command: written.command.into(),
            timeout: written.timeout,
            max_memory: written.max_memory,
            max_output: written.max_output,
        }
    }
}

impl From<Written> for Converter {
    fn from(written: Written) -> Self {
        match written {
            Written::Command(command) => Vec::from(command).into(),
            Written::WithLimits(it) => it.into(),
        }
    }
}

impl From<Converter> for Written {
    fn from(converter: Converter) -> Self {
        let command = Command::List(converter.command);
        match (
            converter.timeout,
            converter.max_memory,
            converter.max_output,
        ) {
            (None, None, None) => Self::Command(command),
            (timeout, max_memory, max_output) => Self::WithLimits(WithLimits {
                command,
                timeout,
                max_memory,
                max_output,
            }),
        }
    }
}

/// An entry of the list: types, their command and its limits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "type")]
    types: Types,
    command: Command,
    timeout: Option<Span>,
    max_memory: Option<Size>,
    max_output: Option<Size>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`type` is a media type, or a list of them")]
enum Types {
    One(String),
    Some(Vec<String>),
}

/// The table.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Table {
    commands: BTreeMap<String, Converter>,
    timeout: Span,
    max_memory: Size,
    max_output: Size,
}

impl Default for Table {
    fn default() -> Self {
        let ConvertOptions {
            commands,
            timeout,
            max_memory,
            max_output,
        } = ConvertOptions::default();
        Self {
            commands,
            timeout,
            max_memory,
            max_output,
        }
    }
}

impl<'de> Deserialize<'de> for ConvertOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TableOrList)
    }
}

struct TableOrList;

impl<'de> Visitor<'de> for TableOrList {
    type Value = ConvertOptions;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .write_str("a table [convert], or entries of [[convert]] with `type` and `command`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let table = Table::deserialize(MapAccessDeserializer::new(map))?;
        Ok(ConvertOptions {
            commands: table.commands,
            timeout: table.timeout,
            max_memory: table.max_memory,
            max_output: table.max_output,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        let mut options = ConvertOptions::default();
        for entry in Vec::<Entry>::deserialize(SeqAccessDeserializer::new(list))? {
            let types = match entry.types {
                Types::One(name) => vec![name],
                Types::Some(names) => names,
            };
            let converter = Converter {
                command: entry.command.into(),
                timeout: entry.timeout,
                max_memory: entry.max_memory,
                max_output: entry.max_output,
            };
            let each = types.into_iter().map(|name| (name, converter.clone()));
            options.commands.extend(each);
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_what_a_table_says() {
        let read = |text: &str| toml::from_str::<BTreeMap<String, ConvertOptions>>(text);
        let list = "[[convert]]\ntype = \"application/pdf\"\ncommand = [\"pdftotext\", \"-\", \"-\"]\n\
                    [[convert]]\ntype = [\"application/msword\", \"application/rtf\"]\n\
                    command = \"catdoc -\"\ntimeout = \"5s\"\nmax_output = \"1MiB\"";
        let table = "[convert.commands]\n\
                     \"application/pdf\" = [\"pdftotext\", \"-\", \"-\"]\n\
                     \"application/msword\" = { command = \"catdoc -\", timeout = \"5s\", max_output = \"1MiB\" }\n\
                     \"application/rtf\" = { command = [\"/bin/sh\", \"-c\", \"catdoc -\"], timeout = \"5s\", max_output = \"1MiB\" }";
        let (list, table) = (read(list).unwrap(), read(table).unwrap());
        assert_eq!(list, table);
        let options = &list["convert"];
        assert_eq!(options.check(), Ok(()));
        let limits = options.commands["application/rtf"].limits(options);
        assert_eq!(limits.timeout, Span::seconds(5));
        assert_eq!(limits.max_memory, options.max_memory);
        // As it is kept and shown.
        let kept = serde_json::to_value(options).unwrap();
        assert_eq!(kept["commands"]["application/pdf"][0], "pdftotext");
        assert_eq!(
            serde_json::from_value::<ConvertOptions>(kept).unwrap(),
            *options
        );
    }

    #[test]
    fn programs_must_be_there() {
        let said = |command: &str| {
            let commands = [("a/b".to_owned(), vec![command.to_owned()].into())].into();
            let options = ConvertOptions {
                commands,
                ..ConvertOptions::default()
            };
            options.missing_programs().unwrap_or_default()
        };
        for command in ["sh", "/bin/sh"] {
            assert_eq!(said(command), "");
        }
        assert!(said("no-such-program").contains("is not in /usr/local/bin, /usr/bin, /bin"));
        assert!(said("/no/such").ends_with("/no/such is not there"));
        assert!(said("./here").contains("is no whole path"));
        assert!(
            said("/dev/null").ends_with("is not there")
                || said("/dev/null").ends_with("executable")
        );
    }

    #[test]
    fn what_is_written_wrongly_is_refused() {
        let check = |text: &str, expected: &str| {
            let read = toml::from_str::<BTreeMap<String, ConvertOptions>>(text);
            let error = read.unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("[[convert]]\ncommand = \"x\"", "missing field `type`");
        check("[[convert]]\ntype = \"a/b\"", "missing field `command`");
        check(
            "[[convert]]\ntype = \"a/b\"\ncommand = 1",
            "a line for the shell",
        );
        check("[[convert]]\ntyp = \"a/b\"", "unknown field `typ`");
        check("[convert]\ncommand = {}", "unknown field `command`");
        check("convert = 1", "entries of [[convert]]");
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        let check = |text: &str, key: &str| {
            let options: ConvertOptions = toml::from_str(text).unwrap();
            assert_eq!(options.check().unwrap_err().0, key, "{text}");
        };
        check("commands = { pdf = [\"x\"] }", "convert.commands");
        check(
            "commands = { \"application/pdf\" = [] }",
            "convert.commands",
        );
        check(
            "commands = { \"application/pdf\" = \" \" }",
            "convert.commands",
        );
        check(
            "commands = { \"application/pdf\" = [\"\"] }",
            "convert.commands",
        );
        check("timeout = \"0s\"", "convert.timeout");
        check(
            "commands = { \"a/b\" = { command = \"x\", timeout = \"0s\" } }",
            "convert.timeout",
        );
        check("max_memory = \"1KiB\"", "convert.max_memory");
        check("max_output = \"0MiB\"", "convert.max_output");
        assert_eq!(ConvertOptions::default().check(), Ok(()));
    }
}
