//! `gleaner dups`: the clusters of duplicates of a crawl, read and written in parts.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::sample::{draw, write_diffs};
use crate::cli::Failure;
use crate::cli::inspector::Inspector;
use crate::cli::shown::Data;
use crate::dedup::{DocumentId, Tier};
use crate::inspect::{Answer, Cluster, ClusterFilter, Cursor, Member, Question, join};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner dups --data-dir crawl | jq -r '[(.members | length), .original] | @tsv' | sort -rn | head
  gleaner dups --data-dir crawl --format csv > duplicates.csv
  gleaner dups --data-dir crawl --sample 20 --tier near --diff
  gleaner dups --data-dir crawl --tier near --min 10

Each line of JSON is a cluster with the fields cluster, original, stands, canonical and members, a
list of objects with url, tier, distance, similarity, first_seen, last_checked and saved. Each line of
CSV is a member, preceded by the fields of its cluster. docs/formats.md documents the fields.

The crawl may be running.")]
pub(crate) struct Arguments {
    /// Data directory of the crawl
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Print N duplicates drawn at random, always the same ones, each with its cluster
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// List only clusters with a duplicate of this tier; draw only such duplicates
    #[arg(long, value_name = "TIER", value_parser = tier())]
    tier: Option<Tier>,
    /// List only clusters with so many duplicates or more
    #[arg(long, value_name = "N", conflicts_with = "sample", default_value_t)]
    min: usize,
    /// List only the cluster with this number, the `cluster` of its line
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["sample", "tier", "min"])]
    cluster: Option<DocumentId>,
    /// Draw others: another number draws other duplicates
    #[arg(long, value_name = "N", requires = "sample", default_value_t)]
    seed: u64,
    /// Print what the visible texts of these differ in from those of their originals, as unified
    /// diffs
    #[arg(long, requires = "sample", conflicts_with = "format")]
    diff: bool,
}

/// Parses the name of a tier.
fn tier() -> impl TypedValueParser<Value = Tier> {
    PossibleValuesParser::new(Tier::ALL.map(Tier::name)).map(|name| {
        let mut tiers = Tier::ALL.into_iter();
        tiers.find(|tier| tier.name() == name).unwrap_or(Tier::Near)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Format {
    /// One JSON object per cluster and line
    #[default]
    Jsonl,
    /// One line per duplicate, after a header line (RFC 4180)
    Csv,
}

/// The fields of a cluster that precede its members.
#[derive(Serialize)]
struct Head<'a> {
    cluster: DocumentId,
    original: &'a str,
    stands: bool,
    canonical: &'a str,
}

pub(in crate::cli::commands) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut inspector = Inspector::open(&arguments.data_dir)?;
    let mut out = BufWriter::new(Data::lock());
    if arguments.format == Format::Csv {
        let names = "cluster,original,stands,canonical,url,tier,distance,similarity,first_seen,last_checked,saved\r\n";
        written(out.write_all(names.as_bytes()))?;
    }
    let mut open = None;
    let mut from = arguments.cluster.map(Cursor::of);
    let write = |out: &mut BufWriter<_>, cluster: &Cluster, open: &mut _| {
        written(match arguments.format {
            Format::Jsonl => write_json(out, cluster, open),
            Format::Csv => write_csv(out, cluster),
        })
    };
    if let Some(size) = arguments.sample {
        let drawn = draw(&mut inspector, arguments.tier, (size, arguments.seed))?;
        if arguments.diff {
            let ended = write_diffs(&mut out, &drawn, &arguments.data_dir, &mut inspector);
            return ended.and(written(out.flush()));
        }
        for mut cluster in drawn {
            // Those of one cluster have a line each, too.
            for member in std::mem::take(&mut cluster.members) {
                let one = Cluster {
                    members: vec![member],
                    ..cluster.clone()
                };
                write(&mut out, &one, &mut open)?;
                close(&mut out, &mut open)?;
            }
        }
    }
    let filter = ClusterFilter {
        min: arguments.min,
        tier: arguments.tier,
    };
    // A cluster that comes in parts is known to be wanted when all of it is there.
    let mut waiting = Vec::new();
    let mut is_found = false;
    while arguments.sample.is_none() {
        let Answer::Dups(part) = inspector.ask(Question::Dups { from })? else {
            return Err(Failure::other_answer());
        };
        from = part.next;
        if let Some(wanted) = arguments.cluster {
            let is_over = part.clusters.iter().any(|it| it.id > wanted);
            for cluster in part.clusters.iter().filter(|it| it.id == wanted) {
                write(&mut out, cluster, &mut open)?;
                is_found = true;
            }
            if is_over {
                break;
            }
        } else if filter == ClusterFilter::default() {
            for cluster in part.clusters {
                write(&mut out, &cluster, &mut open)?;
            }
        } else {
            join(&mut waiting, part.clusters);
            let last = from.as_ref().and_then(|_| waiting.pop());
            for cluster in waiting.drain(..).filter(|it| filter.takes(it)) {
                write(&mut out, &cluster, &mut open)?;
            }
            waiting.extend(last);
        }
        if from.is_none() {
            break;
        }
    }
    if let Some(wanted) = arguments.cluster.filter(|_| !is_found) {
        let message = format!("there is no cluster {wanted}, or no longer");
        return Err(Failure::usage(message));
    }
    close(&mut out, &mut open)?;
    written(out.flush())
}

/// Ends the line of a cluster, if one is open.
fn close(out: &mut impl Write, open: &mut Option<DocumentId>) -> Result<(), Failure> {
    match open.take() {
        Some(_) => written(out.write_all(b"]}\n")),
        None => Ok(()),
    }
}

fn written(result: io::Result<()>) -> Result<(), Failure> {
    Ok(result.context("cannot write to standard output")?)
}

/// Writes a cluster, or more members of the one written last. The line is left open for more
/// members.
fn write_json(
    out: &mut impl Write,
    cluster: &Cluster,
    open: &mut Option<DocumentId>,
) -> io::Result<()> {
    let mut is_first = false;
    if *open != Some(cluster.id) {
        if open.replace(cluster.id).is_some() {
            out.write_all(b"]}\n")?;
        }
        let head = Head {
            cluster: cluster.id,
            original: &cluster.original,
            stands: cluster.stands,
            canonical: &cluster.canonical,
        };
        let head = serde_json::to_string(&head)?;
        let head = head.strip_suffix('}').unwrap_or(&head);
        write!(out, "{head},\"members\":[")?;
        is_first = true;
    }
    for member in &cluster.members {
        if !std::mem::take(&mut is_first) {
            out.write_all(b",")?;
        }
        serde_json::to_writer(&mut *out, member)?;
    }
    Ok(())
}

fn write_csv(out: &mut impl Write, cluster: &Cluster) -> io::Result<()> {
    for member in &cluster.members {
        let Member {
            url,
            tier,
            distance,
            similarity,
            first_seen,
            last_checked,
            saved,
        } = member;
        write!(
            out,
            "{},{},{},{},{},{},{distance},{similarity},{first_seen},{last_checked},{saved}\r\n",
            cluster.id,
            quoted(&cluster.original),
            cluster.stands,
            quoted(&cluster.canonical),
            quoted(url),
            tier.name(),
        )?;
    }
    Ok(())
}

/// Quotes a field where RFC 4180, section 2, requires it.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Similarity, Tier};

    fn cluster(id: DocumentId, urls: &[&str]) -> Cluster {
        let member = |url: &&str| Member {
            url: (*url).to_owned(),
            tier: Tier::Near,
            distance: 3,
            similarity: Similarity::of(0.95),
            first_seen: "2026-01-01T00:00:00.000Z".to_owned(),
            last_checked: "2026-01-02T00:00:00.000Z".to_owned(),
            saved: 7,
        };
        Cluster {
            id,
            original: "http://a.example/a,b".to_owned(),
            stands: true,
            canonical: "http://a.example/\"".to_owned(),
            members: urls.iter().map(member).collect(),
        }
    }

    #[test]
    fn a_cluster_that_comes_in_parts_is_one_line() {
        let mut out = Vec::new();
        let mut open = None;
        for (id, urls) in [(1, &["u", "v"][..]), (1, &["w"]), (2, &["x"])] {
            write_json(&mut out, &cluster(id, urls), &mut open).unwrap();
        }
        out.extend(b"]}\n");
        let out = String::from_utf8(out).unwrap();
        let lines: Vec<serde_json::Value> = out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2);
        let urls = lines[0]["members"].as_array().unwrap();
        let urls: Vec<_> = urls.iter().map(|it| it["url"].as_str().unwrap()).collect();
        assert_eq!(urls, ["u", "v", "w"]);
        assert_eq!(lines[1]["cluster"], 2);
        assert_eq!(lines[1]["members"][0]["similarity"], 0.95);
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let mut out = Vec::new();
        write_csv(&mut out, &cluster(1, &["http://b.example/"])).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "1,\"http://a.example/a,b\",true,\"http://a.example/\"\"\",http://b.example/,near,3,\
             0.950,2026-01-01T00:00:00.000Z,2026-01-02T00:00:00.000Z,7\r\n"
        );
    }
}
