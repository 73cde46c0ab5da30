//! `gleaner export`: the pages of crawls in the forms in which others read them.

mod jsonl;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use super::duplicates::show;
use super::pages::{language_code, wish_parser};
use crate::cli::output::Screen;
use crate::cli::progress::Counted;
use crate::cli::words::count;
use crate::cli::{Failure, elsewhere};
use crate::cluster::worker_of;
use crate::engine::Position;
use crate::export::{
    self, Columns, CrawlRead, Error, Filter, Manifest, Output, Packed, Packing, PageTable,
    ParquetOutput, Reader, Row, Source, StatusRange, Walked, Want, Written,
};
use crate::units::Size;
use crate::url::HostPattern;
use jsonl::Fields;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner export --data-dir crawl -o pages.jsonl.zst --format jsonl --unique --language en
  gleaner export --data-dir one two -o texts.warc.wet.gz --format wet --without noai
  gleaner export --data-dir crawl -o more.jsonl --format jsonl --after pages.jsonl.zst.manifest.json
  gleaner export --data-dir crawl -o train.parquet --format parquet --unique --max-size 1GB
  gleaner export --data-dir crawl -o texts.parquet --format parquet --columns url,title,text
  gleaner export --data-dir crawl -o index --format cc-index --dump AUTUMN-2026
  gleaner export --data-dir crawl -o crawl.wacz --format wacz --title \"My crawl\"

Gives out what is committed, in the order of commits; the crawl may be running. The file
`PATH.manifest.json` says what was written and where reading ended, for --after. Nothing is
overwritten. docs/formats.md documents the formats.")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct Arguments {
    /// Data directories of the crawls
    #[arg(long, value_name = "DIR", num_args = 1.., required = true)]
    data_dir: Vec<PathBuf>,
    /// The file to write, or the directory
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Its format
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Format,
    /// Only originals: no duplicates, errors or redirects
    #[arg(long)]
    unique: bool,
    /// Only pages that are new or changed since the earlier crawls of --since
    #[arg(long)]
    changed: bool,
    /// Omit pages that ask for one of these in a robots meta tag or header: noindex, nofollow,
    /// noarchive, noai, noimageai, tdm-reservation
    #[arg(long, value_name = "WISH,...", value_delimiter = ',', value_parser = wish_parser(), hide_possible_values = true)]
    without: Vec<String>,
    /// Only pages in these languages: codes such as en, pt or ast, of the language that the text is
    /// in, else of the one that the page declares
    #[arg(long, value_name = "LANG,...", value_delimiter = ',', value_parser = language_code)]
    language: Vec<String>,
    /// Only pages of these hosts: example.org and names below it, *.example.org for these alone
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    host: Vec<HostPattern>,
    /// Only pages with these schemes: http, https
    #[arg(long, value_name = "SCHEME,...", value_delimiter = ',')]
    scheme: Vec<String>,
    /// Only pages with these statuses: 200, 2xx
    #[arg(long, value_name = "STATUS,...", value_delimiter = ',')]
    status: Vec<StatusRange>,
    /// Only pages with this number of words at least
    #[arg(long, value_name = "N", default_value_t)]
    min_words: u32,
    /// Only pages that were requested at this time or later: 2026-01-31, 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = Filter::time)]
    since: Option<Timestamp>,
    /// Only pages that were requested before this time
    #[arg(long, value_name = "TIME", value_parser = Filter::time)]
    until: Option<Timestamp>,
    /// Begin another file when one has this size, such as 1GB; a number is put in front of the
    /// ending of their names
    #[arg(long, value_name = "SIZE")]
    max_size: Option<Size>,
    /// Go on behind an earlier export, by its manifest, or behind a position of one crawl
    #[arg(long, value_name = "MANIFEST|POSITION")]
    after: Option<String>,
    /// With jsonl, write these fields only
    #[arg(long, value_name = "FIELD,...", value_delimiter = ',')]
    fields: Vec<String>,
    /// With wacz, what players call the package
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// With wacz, put texts into the lists of pages, for searching
    #[arg(long)]
    text: bool,
    /// With parquet, the column `dump`, with cc-index, `crawl` [default: the name of the data
    /// directory]
    #[arg(long, value_name = "NAME")]
    dump: Option<String>,
    /// With parquet, write these columns only, in this order [default: those of `FineWeb`, then
    /// what gleaner knows of each page]
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',', conflicts_with_all = ["markdown", "quality"])]
    columns: Vec<String>,
    /// With parquet, add a column with the text as Markdown
    #[arg(long)]
    markdown: bool,
    /// With parquet, add columns with measures of the text by which pages are chosen for corpora
    #[arg(long)]
    quality: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A JSON object a line: the fields of `gleaner pages`, Markdown and more; compressed if the
    /// name ends in .gz or .zst
    Jsonl,
    /// Texts as WARC records, as in the WET files of Common Crawl
    Wet,
    /// The closed files of the archive with an index and lists of pages, for players such as
    /// ReplayWeb.page; whole, without filters
    Wacz,
    /// A table of pages: the columns of `FineWeb`, then what gleaner knows of each page; --columns
    /// chooses
    Parquet,
    /// A directory with a table of captures: the columns of Common Crawl's index, sorted by URL
    CcIndex,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Wet => "wet",
            Self::Wacz => "wacz",
            Self::Parquet => "parquet",
            Self::CcIndex => "cc-index",
        }
    }
}

pub(super) fn run(arguments: &Arguments, screen: &Screen) -> Result<(), Failure> {
    arguments.check()?;
    let (sources, before) = arguments.sources()?;
    let progress = Counted::beside_files(screen, "pages");
    let (crawls, files) = match arguments.format {
        Format::Jsonl => arguments.write_lines(&sources, &progress)?,
        Format::Wet => arguments.write_texts(&sources, &progress)?,
        Format::Parquet => arguments.write_table(&sources, &progress)?,
        Format::CcIndex => {
            let (walked, files) = export::index_columns(
                &sources,
                &arguments.filter(),
                &arguments.output,
                arguments.dump.as_deref(),
                arguments.max_size.map(|size| size.0),
                || progress.one(),
            )?;
            (crawls_read(&sources, &walked), files)
        }
        Format::Wacz => {
            let packing = Packing {
                path: &arguments.output,
                max_size: arguments.max_size.map(|size| size.0),
                title: arguments.title.as_deref(),
                text: arguments.text,
                after: before.as_ref(),
            };
            let packed = export::pack(&sources, &packing, || progress.one())?;
            tell_left_out(&packed, screen);
            (packed.crawls, packed.files)
        }
    };
    drop(progress);
    let manifest = Manifest::new(arguments.format.name(), crawls, files);
    let path = Manifest::path_for(&arguments.output);
    manifest.write(&path)?;
    screen.say(&told(&manifest.files, &path));
    elsewhere::tell(&arguments.data_dir, screen);
    Ok(())
}

/// The crawls that were read, and the files that were written.
type Exported = (Vec<CrawlRead>, Vec<Written>);

/// Says what packages lack, and what they need.
fn tell_left_out(packed: &Packed, screen: &Screen) {
    if packed.open > 0 {
        let files = count(packed.open as u64, "file");
        screen.say(&format!(
            "{files} of the archive not closed yet, and not packed: the next export with --after has them"
        ));
    }
    if packed.missing > 0 {
        let files = count(packed.missing as u64, "file");
        screen.say(&format!(
            "{files} of the archive are missing; archive.also_in says where files were moved to"
        ));
    }
    let own = |name: &&String| !packed.files.iter().any(|file| file.name == **name);
    let others: Vec<&str> = packed
        .requires
        .iter()
        .filter(own)
        .map(String::as_str)
        .collect();
    if !others.is_empty() {
        screen.say(&format!(
            "{} to records that are not packed here: open packages of {} with it, or players lack these pages",
            refer(packed.revisits),
            others.join(", ")
        ));
    }
    if packed.dangling > 0 {
        screen.say(&format!(
            "{} to records that no archive at hand has: players lack these pages",
            refer(packed.dangling)
        ));
    }
}

fn refer(revisits: u64) -> String {
    match revisits {
        1 => "1 revisit refers".to_owned(),
        _ => format!("{} refer", count(revisits, "revisit")),
    }
}

fn crawls_read(sources: &[Source], walked: &[Walked]) -> Vec<CrawlRead> {
    let crawls = sources.iter().zip(walked);
    let crawls = crawls.map(|(source, walked)| CrawlRead {
        data_dir: source.data.display().to_string(),
        after: source.after.to_string(),
        position: walked.position.to_string(),
        archive_files: Vec::new(),
    });
    crawls.collect()
}

fn told(files: &[Written], manifest: &Path) -> String {
    let pages = files.iter().map(|file| file.pages).sum();
    format!(
        "{} in {}; {} says where the next export goes on",
        count(pages, "page"),
        count(files.len() as u64, "file"),
        manifest.display()
    )
}

impl Arguments {
    /// Refuses options that the format does not heed.
    fn check(&self) -> Result<(), Failure> {
        if !self.fields.is_empty() && self.format != Format::Jsonl {
            return Err(Failure::usage(match self.format {
                Format::Parquet => "--fields is for --format jsonl: give --columns",
                _ => "--fields is for --format jsonl",
            }));
        }
        let has_columns = !self.columns.is_empty() || self.markdown || self.quality;
        if has_columns && self.format != Format::Parquet {
            return Err(Failure::usage(match self.format {
                Format::Jsonl if !self.columns.is_empty() => {
                    "--columns is for --format parquet: give --fields"
                }
                _ => "--columns, --markdown and --quality are for --format parquet",
            }));
        }
        let has_dump = matches!(self.format, Format::Parquet | Format::CcIndex);
        if self.dump.is_some() && !has_dump {
            return Err(Failure::usage(
                "--dump is for --format parquet and --format cc-index",
            ));
        }
        let is_wacz = self.format == Format::Wacz;
        if !is_wacz && (self.title.is_some() || self.text) {
            return Err(Failure::usage("--title and --text are for --format wacz"));
        }
        if is_wacz && !self.is_of_all() {
            return Err(Failure::usage(
                "--format wacz packs whole files of the archive, so it cannot leave pages out: omit --unique, --changed, --without, --language, --host, --scheme, --status, --min-words, --since and --until",
            ));
        }
        Ok(())
    }

    /// Whether nothing is left out.
    fn is_of_all(&self) -> bool {
        let lists = [
            self.without.is_empty(),
            self.language.is_empty(),
            self.host.is_empty(),
            self.scheme.is_empty(),
            self.status.is_empty(),
        ];
        let times = [self.since, self.until];
        !self.unique
            && !self.changed
            && self.min_words == 0
            && lists.into_iter().all(|is_empty| is_empty)
            && times.iter().all(Option::is_none)
    }

    /// The crawls, and the manifest after which their pages are wanted.
    fn sources(&self) -> Result<(Vec<Source>, Option<Manifest>), Failure> {
        let position = self.after.as_ref().map(|text| text.parse::<Position>());
        let (position, manifest) = match (position, &self.after) {
            (Some(Ok(_)), _) if self.format == Format::Wacz => {
                return Err(Failure::usage(
                    "--format wacz packs files, not lines: give --after the manifest of an earlier export to wacz",
                ));
            }
            (Some(Ok(_)), _) if self.data_dir.len() > 1 => {
                return Err(Failure::usage(
                    "a position is one of one crawl; with several, give --after the manifest of an earlier export",
                ));
            }
            (Some(Ok(position)), _) => (position, None),
            (Some(Err(_)), Some(path)) => {
                (Position::default(), Some(Manifest::read(Path::new(path))?))
            }
            _ => (Position::default(), None),
        };
        if let Some(manifest) = &manifest
            && (manifest.format == "wacz") != (self.format == Format::Wacz)
        {
            return Err(Failure::usage(format!(
                "--after names an export to {}: give the manifest of an earlier one to {}",
                manifest.format,
                self.format.name()
            )));
        }
        let after = |data: &Path| match &manifest {
            // Pages are those of files, and these are known by their names.
            _ if self.format == Format::Wacz => Ok(Position::default()),
            Some(manifest) => manifest.position_of(data),
            None => Ok(position),
        };
        let source = |data: &PathBuf| {
            Ok(Source {
                data: data.clone(),
                reader: Reader::new(show::texts(data).with_others(self.others_of(data))),
                after: after(data)?,
            })
        };
        let sources: Result<_, Failure> = self.data_dir.iter().map(source).collect();
        Ok((sources?, manifest))
    }

    fn write_lines(&self, sources: &[Source], progress: &Counted) -> Result<Exported, Failure> {
        let max_size = self.max_size.map(|size| size.0);
        let mut output = Output::of_lines(&self.output, max_size);
        let fields = Fields::of(&self.fields)?;
        let walked = export::walk(
            sources,
            &self.filter(),
            fields.want(),
            |found, source, position| fields.json(found, source, position).map(Some),
            |line: Vec<u8>| {
                progress.one();
                output.write(&line)
            },
        )?;
        Ok((crawls_read(sources, &walked), output.finish()?))
    }

    fn write_table(&self, sources: &[Source], progress: &Counted) -> Result<Exported, Failure> {
        let columns = match self.columns.as_slice() {
            [] => Columns::Usual {
                markdown: self.markdown,
                quality: self.quality,
            },
            names => Columns::Named(names),
        };
        let table = PageTable::new(self.dump.clone(), columns)?;
        let max_size = self.max_size.map(|size| size.0);
        let mut output = ParquetOutput::new(&self.output, max_size, &table.columns());
        let walked = export::walk(
            sources,
            &self.filter(),
            table.want(),
            |found, source, position| table.row(found, source, position).map(Some),
            |row: Row| {
                progress.one();
                output.write(row)
            },
        )?;
        Ok((crawls_read(sources, &walked), output.finish()?))
    }

    fn write_texts(&self, sources: &[Source], progress: &Counted) -> Result<Exported, Failure> {
        let max_size = self.max_size.map(|size| size.0);
        let mut output = Output::of_members(&self.output, max_size, export::opening);
        let want = Want {
            text: true,
            ..Want::default()
        };
        let walked = export::walk(
            sources,
            &self.filter(),
            want,
            |found, source, _| Ok(export::conversion(&found, &source.reader)),
            |member: Vec<u8>| {
                progress.one();
                output.write(&member)
            },
        )?;
        Ok((crawls_read(sources, &walked), output.finish()?))
    }

    /// Returns the other directories of the same shard, if the crawl is one of several workers.
    fn others_of(&self, data: &Path) -> Vec<PathBuf> {
        let shard = worker_of(data).and_then(|_| data.file_name());
        let others = self.data_dir.iter().filter(|other| {
            shard.is_some()
                && *other != data
                && other.file_name() == shard
                && worker_of(other).is_some()
        });
        others.cloned().collect()
    }

    fn filter(&self) -> Filter {
        Filter {
            unique: self.unique,
            changed: self.changed,
            without: self.without.clone(),
            languages: self.language.clone(),
            hosts: self.host.clone(),
            schemes: self.scheme.clone(),
            statuses: self.status.clone(),
            min_words: self.min_words,
            since: self.since,
            until: self.until,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Crawl(error) => Self::Engine(error),
            Error::Request(message) => Self::usage(message),
            error @ Error::Io { .. } => Self::Io(anyhow::Error::new(error)),
        }
    }
}
