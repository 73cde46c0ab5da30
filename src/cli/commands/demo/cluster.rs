//! `gleaner demo --cluster`: three workers crawl a small web together, one is killed in the middle,
//! and the others go on with what it had. All of it is real: a server of NATS, processes, a kill.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::json;

use crate::broker::{Address, Broker, Nats};
use crate::cli::output::{self, Screen};
use crate::cli::words::shards;
use crate::cli::{Failure, signals};
use crate::cluster::{self, ClusterStatus, Going, NewCrawl, create, set_going};
use crate::config;
use crate::demo::{self, Asked, CLUSTER_PAGES, CLUSTER_SEED, Server};
use crate::engine::StopHandle;
use crate::url::parse;

/// The workers. The second one is killed.
const WORKERS: [&str; 3] = ["a", "b", "c"];
const KILLED: &str = "b";

const SHARDS: u16 = 6;

/// Time after which the workers take one for dead: a demo is short of time.
const DEAD: &str = "2s";

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Time that no step takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// A process that does not outlive the demo.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What happens, as it is told.
struct Story<'a> {
    begun: Instant,
    is_told: bool,
    stop: &'a StopHandle,
    steps: Vec<(f64, String)>,
}

impl Story<'_> {
    fn tell(&mut self, what: String) -> Result<(), Failure> {
        let at = self.begun.elapsed().as_secs_f64();
        if self.is_told {
            output::print(&format!("{at:6.1} s  {what}\n"))?;
        }
        self.steps.push((at, what));
        Ok(())
    }

    /// Looks until there is an answer.
    fn wait<T>(
        &self,
        what: &str,
        mut look: impl FnMut() -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        let start = Instant::now();
        loop {
            if let Some(found) = look()? {
                return Ok(found);
            }
            if self.stop.is_stopped() {
                return Err(anyhow::anyhow!("stopped").into());
            }
            if start.elapsed() > PATIENCE {
                let seconds = PATIENCE.as_secs();
                return Err(anyhow::anyhow!("{what} did not come about in {seconds} s").into());
            }
            thread::sleep(LOOK);
        }
    }
}

/// A cluster that runs.
struct Cluster {
    broker: Arc<dyn Broker>,
    address: Address,
    workers: Vec<(&'static str, Process)>,
    /// Dropped last: workers that end still say so.
    _engine: Process,
}

pub(super) fn run(
    directory: &Path,
    nats_server: Option<&Path>,
    is_json: bool,
    screen: &Screen,
) -> Result<(), Failure> {
    let binary = found(nats_server)?;
    let stop = StopHandle::new();
    signals::listen(stop.clone(), screen.clone())?;
    let web = demo::serve_cluster().context("cannot serve the built-in web on 127.0.0.1")?;
    if !is_json {
        output::print(&introduction())?;
    }
    let mut story = Story {
        begun: Instant::now(),
        is_told: !is_json,
        stop: &stop,
        steps: Vec::new(),
    };
    fs::create_dir_all(directory).map_err(anyhow::Error::from)?;
    let mut cluster = Cluster::begin(&mut story, &binary, directory, &web)?;
    story.wait("half of the pages", || {
        Ok((web.asked().pages >= CLUSTER_PAGES / 2).then_some(()))
    })?;
    cluster.kill_one(&mut story, &web)?;
    cluster.end(&mut story, directory)?;
    report(
        &story,
        &cluster.now(Duration::ZERO)?,
        &web,
        directory,
        is_json,
    )
}

impl Cluster {
    /// Starts the engine and the workers, and lets them crawl when each shard has a copy: before, a
    /// worker that dies would take it along.
    fn begin(
        story: &mut Story<'_>,
        binary: &Path,
        directory: &Path,
        web: &Server,
    ) -> Result<Self, Failure> {
        let (mut engine, address) = start_engine(binary, directory)?;
        let broker: Arc<dyn Broker> = story.wait("the engine", || {
            if let Ok(Some(ended)) = engine.0.try_wait() {
                let log = fs::read_to_string(directory.join("engine.log")).unwrap_or_default();
                let last = log.lines().last().unwrap_or_default().to_owned();
                return Err(anyhow::anyhow!("nats-server ended with {ended}: {last}").into());
            }
            match Nats::connect(&address) {
                Ok(broker) => Ok(Some(Arc::new(broker) as Arc<dyn Broker>)),
                Err(crate::broker::Error::Away(_)) => Ok(None),
                Err(error) => Err(anyhow::Error::from(error).into()),
            }
        })?;
        story.tell(format!("the engine runs: {}", binary.display()))?;
        let config = demo::cluster_config(web).map_err(anyhow::Error::from)?;
        let new = NewCrawl {
            shards: SHARDS,
            copies: 2,
            settings: config::shared(&config),
            ..NewCrawl::default()
        };
        let seed = parse(CLUSTER_SEED).map_err(anyhow::Error::from)?;
        create(&*broker, &new, [seed.into()]).map_err(anyhow::Error::from)?;
        set_going(&*broker, Going::Paused).map_err(anyhow::Error::from)?;
        let mut workers = Vec::new();
        for name in WORKERS {
            workers.push((name, start_worker(name, directory, &address)?));
        }
        let cluster = Self {
            broker,
            address,
            workers,
            _engine: engine,
        };
        cluster.wait(story, "a copy of each shard", &|now| {
            let is_copied = |it: &cluster::ShardNow| it.is_owned && !it.copies.is_empty();
            let has_two = |it: &cluster::WorkerNow| it.owns.len() == 2;
            now.shards.iter().all(is_copied) && now.workers.iter().all(has_two)
        })?;
        story.tell(format!(
            "{} workers own 2 shards each of {SHARDS}, and have copies of the others'",
            WORKERS.len()
        ))?;
        set_going(&*cluster.broker, Going::Running).map_err(anyhow::Error::from)?;
        Ok(cluster)
    }

    /// Returns how it stands. Who says nothing new in this time is taken for gone.
    fn now(&self, patience: Duration) -> Result<ClusterStatus, Failure> {
        let now = cluster::status(&self.broker, self.address.name(), patience);
        Ok(now.map_err(anyhow::Error::from)?)
    }

    /// Waits until it stands like this.
    fn wait(
        &self,
        story: &Story<'_>,
        what: &str,
        is_so: &dyn Fn(&ClusterStatus) -> bool,
    ) -> Result<ClusterStatus, Failure> {
        story.wait(what, || Ok(Some(self.now(6 * LOOK)?).filter(is_so)))
    }

    /// Kills a worker, and waits until others own what it owned.
    fn kill_one(&mut self, story: &mut Story<'_>, web: &Server) -> Result<(), Failure> {
        let lost = owned(&self.now(Duration::ZERO)?, KILLED);
        self.workers.retain_mut(|(name, process)| {
            let is_killed = *name == KILLED;
            if is_killed {
                // SIGKILL: it has no time to say or to write anything.
                let _ = process.0.kill();
            }
            !is_killed
        });
        story.tell(format!(
            "{} of {CLUSTER_PAGES} pages were asked for: worker {KILLED} is killed, which owned \
             shards {}",
            web.asked().pages,
            shards(&lost, " and ")
        ))?;
        let is_owned = |now: &ClusterStatus| owned(now, KILLED).is_empty();
        let after = self.wait(story, "new owners", &is_owned)?;
        let heir = |shard: &u16| {
            let owner = after.shards.get(usize::from(*shard))?.owner.as_ref()?;
            Some(format!("{shard:02} by {owner}"))
        };
        let heirs: Vec<String> = lost.iter().filter_map(heir).collect();
        story.tell(format!(
            "its shards are owned by others: {}",
            heirs.join(", ")
        ))
    }

    /// Waits until the other workers have ended.
    fn end(&mut self, story: &mut Story<'_>, directory: &Path) -> Result<(), Failure> {
        let workers = &mut self.workers;
        story.wait("the end of the crawl", || {
            let mut is_over = true;
            for (name, worker) in &mut *workers {
                match worker.0.try_wait().map_err(anyhow::Error::from)? {
                    None => is_over = false,
                    Some(ended) if ended.success() => {}
                    Some(ended) => {
                        let log = directory.join(format!("{name}.log"));
                        let log = log.display();
                        return Err(
                            anyhow::anyhow!("worker {name} ended with {ended}: {log}").into()
                        );
                    }
                }
            }
            Ok(is_over.then_some(()))
        })?;
        story.tell("nothing is left to crawl".to_owned())
    }
}

/// The shards that a worker owns, alive or not.
fn owned(now: &ClusterStatus, worker: &str) -> Vec<u16> {
    let owned = now.shards.iter();
    let owned = owned.filter(|it| it.owner.as_deref() == Some(worker));
    owned.map(|it| it.shard).collect()
}

fn introduction() -> String {
    format!(
        "A small web of 8 sites is served on this machine; no request leaves it. Three workers \
         crawl\nit together from {CLUSTER_SEED}, over a nats-server, and one of them is\nkilled \
         in the middle.\n\n"
    )
}

/// The nats-server: what was named, or that in the path.
fn found(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let binary = named.map_or_else(|| PathBuf::from("nats-server"), Path::to_owned);
    let version = Command::new(&binary).arg("--version").output();
    match version {
        Ok(output) if output.status.success() => Ok(binary),
        _ => Err(Failure::Usage {
            message: match named {
                Some(named) => format!("{} is no nats-server", named.display()),
                None => "there is no nats-server in the PATH".to_owned(),
            },
            hint: Some(
                "install it (https://nats.io/download, one binary), or name it with --nats-server",
            ),
        }),
    }
}

/// Starts a server of NATS.
fn start_engine(binary: &Path, directory: &Path) -> Result<(Process, Address), Failure> {
    // Nobody else takes the port in the moment between.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let port = free.context("no port is free on 127.0.0.1")?.port();
    let log = File::create(directory.join("engine.log")).map_err(anyhow::Error::from)?;
    let child = Command::new(binary)
        .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"])
        .arg(directory.join("engine"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .with_context(|| format!("cannot start {}", binary.display()))?;
    let address = format!("nats://127.0.0.1:{port}/demo").parse::<Address>();
    let address = address.map_err(|error| anyhow::anyhow!(error))?;
    Ok((Process(child), address))
}

/// Starts a worker, as a person would on a machine of its own.
fn start_worker(name: &str, directory: &Path, address: &Address) -> Result<Process, Failure> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let log = File::create(directory.join(format!("{name}.log"))).map_err(anyhow::Error::from)?;
    let mut command = Command::new(program);
    for (variable, _) in std::env::vars_os() {
        // It would be a setting.
        if variable.to_string_lossy().starts_with("GLEANER_") {
            command.env_remove(variable);
        }
    }
    let child = command
        .args(["worker", &address.to_string(), "--name", name])
        .args(["--machine", name, "--dead", DEAD])
        // The demo writes less than a megabyte.
        .args(["--set", "state.disk_reserve=0B", "--data-dir"])
        .arg(directory.join(name))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .context("cannot start a worker")?;
    Ok(Process(child))
}

/// Says what came of it.
fn report(
    story: &Story<'_>,
    now: &ClusterStatus,
    web: &Server,
    directory: &Path,
    is_json: bool,
) -> Result<(), Failure> {
    let asked = web.asked();
    let committed = usize::try_from(now.sum.pages).unwrap_or(usize::MAX);
    let lost = CLUSTER_PAGES.saturating_sub(committed.min(asked.pages));
    if is_json {
        let told = json!({
            "data_dir": directory,
            "pages": CLUSTER_PAGES,
            "committed": committed,
            "lost": lost,
            "requests": asked.requests,
            "repeated": asked.repeated,
            "steps": story.steps.iter().map(|(at, what)| json!({ "seconds": at, "what": what }))
                .collect::<Vec<_>>(),
            "status": now,
        });
        output::print(&format!("{told}\n"))?;
    } else {
        output::print(&in_words(now, &asked, lost, directory))?;
    }
    match lost {
        0 => Ok(()),
        lost => Err(anyhow::anyhow!("{lost} pages were lost, which must not be").into()),
    }
}

fn in_words(now: &ClusterStatus, asked: &Asked, lost: usize, directory: &Path) -> String {
    let mut text = format!(
        "\nCommitted: {} of {CLUSTER_PAGES} pages; lost: {lost}\n\n",
        now.sum.pages
    );
    for worker in &now.workers {
        let end = if worker.name == KILLED {
            ", killed"
        } else {
            ""
        };
        let owned = owned(now, &worker.name);
        let owned = match owned.is_empty() {
            true => "nothing".to_owned(),
            false => shards(&owned, " and "),
        };
        let _ = writeln!(
            text,
            "  worker {}{end}: owned {owned} in the end",
            worker.name
        );
    }
    let _ = writeln!(
        text,
        "\nLinks from one shard to another: {} sent, {} committed there\n\n\
         Seen by the servers: {} requests, {} of them for a robots.txt; repeated: {}",
        now.links.sent,
        now.links.received,
        asked.requests,
        asked.robots,
        asked.repeated.len()
    );
    for url in &asked.repeated {
        let _ = writeln!(text, "  {url}");
    }
    if !asked.repeated.is_empty() {
        text.push_str(
            "  were on their way when the worker was killed: what is not committed is fetched \
             again\n",
        );
    }
    let directory = directory.display();
    let _ = writeln!(
        text,
        "\nWritten: {directory}, yours to delete; each of {directory}/*/shards/* is a data \
         directory\n\nNext: docs/cluster.md"
    );
    text
}
