//! Settings that change while a crawl runs: read again on SIGHUP, or set over the console.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::cli::Failure;
use crate::cli::commands::config::{SettingFlags, login};
use crate::cli::output::{self, Screen};
use crate::config::{self, Config, Effective};
use crate::console::{Setting, Settings};
use crate::engine::{Control, LiveOptions, Options};
use crate::fetch::CookieFile;
use crate::frontier::RobotsMode;

/// The settings of a crawl that runs.
pub(in crate::cli::commands) struct Reloading {
    directory: PathBuf,
    control: Control,
    screen: Screen,
    /// What the command makes of options, whatever is configured.
    adjust: fn(&mut Options),
    holding: Mutex<Holding>,
}

/// What holds while a crawl runs.
struct Holding {
    flags: SettingFlags,
    /// By key, as they are in force.
    settings: BTreeMap<String, String>,
    login: CookieFile,
    shown: Vec<Setting>,
}

/// What a change of settings has changed.
#[derive(Default)]
struct Changed {
    /// What is in force: key, and both values.
    live: Vec<(String, String, String)>,
    /// What will be after a restart.
    later: Vec<(String, String, String)>,
    has_other_cookies: bool,
}

impl Changed {
    /// What is in force and was not, in a sentence each.
    fn sentences(&self) -> Vec<String> {
        let live = self.live.iter();
        let said = live.map(|(key, then, now)| format!("{key} was {then}, is {now}"));
        said.collect()
    }
}

impl Reloading {
    /// Takes down with what a crawl began.
    pub(in crate::cli::commands) fn begin(
        (flags, directory): (&SettingFlags, &Path),
        effective: &Effective,
        control: Control,
        screen: &Screen,
        adjust: fn(&mut Options),
    ) -> Result<Self, Failure> {
        let holding = Holding {
            flags: flags.clone(),
            settings: config::flatten(&effective.config),
            login: effective.config.read_cookie_files()?,
            shown: shown(effective),
        };
        Ok(Self {
            directory: directory.to_owned(),
            control,
            screen: screen.clone(),
            adjust,
            holding: Mutex::new(holding),
        })
    }

    /// The data directory.
    pub(in crate::cli::commands) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads the settings again and says what has changed. An invalid configuration changes
    /// nothing.
    pub(in crate::cli::commands) fn reload(&self) {
        let mut holding = self.holding.lock().unwrap_or_else(PoisonError::into_inner);
        let flags = holding.flags.clone();
        match self.apply(&mut holding, flags) {
            Ok(changed) => self.tell(&changed),
            Err(failure) => {
                crate::cli::report(&failure);
                output::say("reload failed: settings are unchanged");
            }
        }
    }

    /// Puts in force what can be.
    fn apply(&self, holding: &mut Holding, flags: SettingFlags) -> Result<Changed, Failure> {
        let effective = flags.load(Some(&self.directory))?;
        let config = &effective.config;
        let mut options = config.options()?;
        (self.adjust)(&mut options);
        let mut options = LiveOptions::from(&options);
        options.policies.block(config.read_block_lists()?);
        options.login = login(config, &self.screen)?;
        let mut changed = Changed {
            has_other_cookies: options.login != holding.login,
            ..Changed::default()
        };
        let logged_in = options.login.clone();
        let now = config::flatten(config);
        let names: BTreeSet<_> = holding.settings.keys().chain(now.keys()).cloned().collect();
        for name in names {
            let (then, value) = (holding.settings.get(&name), now.get(&name));
            if then == value {
                continue;
            }
            let unset = || "(unset)".to_owned();
            let change = (
                name.clone(),
                then.cloned().unwrap_or_else(unset),
                value.cloned().unwrap_or_else(unset),
            );
            if config::is_live(&name) {
                changed.live.push(change);
            } else {
                changed.later.push(change);
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(anyhow::Error::from)?;
        runtime
            .block_on(self.control.change(options, changed.sentences()))
            .map_err(anyhow::Error::from)?;
        holding.login = logged_in;
        for (name, ..) in &changed.live {
            match now.get(name) {
                Some(value) => holding.settings.insert(name.clone(), value.clone()),
                None => holding.settings.remove(name),
            };
        }
        if (changed.live.iter()).any(|(name, ..)| name.starts_with("crawl.robots")) {
            warn_of_ignored_robots(config, &self.screen);
        }
        effective.remembered().write(&self.directory)?;
        holding.flags = flags;
        holding.shown = shown(&effective);
        Ok(changed)
    }

    fn tell(&self, changed: &Changed) {
        for said in changed.sentences() {
            self.screen.say(&format!("reloaded: {said}"));
        }
        for (name, then, value) in &changed.later {
            output::say(&format!(
                "reloaded: {name} is still {then}; restart to set it to {value}"
            ));
        }
        if changed.has_other_cookies {
            self.screen.say("reloaded: cookies of fetch.cookie_files; `gleaner retry --class session` goes on where a login was lost");
        } else if changed.live.is_empty() && changed.later.is_empty() {
            self.screen.say("reloaded: no settings changed");
        }
    }
}

/// Every setting, and who set it.
fn shown(effective: &Effective) -> Vec<Setting> {
    let settings = effective.settings().into_iter();
    let shown = settings.map(|(key, value, origin)| Setting {
        live: config::is_live(&key),
        key,
        value,
        origin: origin.to_string(),
    });
    shown.collect()
}

/// Live settings that name files. Whoever may steer the crawl from afar may not have files read
/// here, of which an error would tell what is in them.
const FILES: [&str; 2] = ["crawl.block_lists", "fetch.cookie_files"];

impl Settings for Reloading {
    fn all(&self) -> Vec<Setting> {
        let holding = self.holding.lock().unwrap_or_else(PoisonError::into_inner);
        holding.shown.clone()
    }

    fn change(&self, set: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
        let mut holding = self.holding.lock().unwrap_or_else(PoisonError::into_inner);
        let mut flags = holding.flags.clone();
        flags.set_also(set);
        if let Some(key) = set.keys().find(|key| FILES.contains(&key.as_str())) {
            return Err(format!(
                "{key} names files of the machine that crawls: set it there in a configuration file, and send the process SIGHUP"
            ));
        }
        if let Some(key) = set.keys().find(|key| !config::is_live(key)) {
            // What is misspelt is said to be, and nothing else is remembered for the next run.
            let loaded = flags.load(Some(&self.directory));
            loaded.map_err(|failure| failure.in_words())?;
            return Err(format!(
                "{key} cannot change while the crawl runs: restart it with --set {key}=VALUE"
            ));
        }
        match self.apply(&mut holding, flags) {
            Ok(changed) => {
                self.tell(&changed);
                Ok(changed.sentences())
            }
            Err(failure) => Err(failure.in_words()),
        }
    }
}

/// Warns whenever robots.txt is ignored.
pub(in crate::cli::commands) fn warn_of_ignored_robots(config: &Config, screen: &Screen) {
    let warn = |hosts: &str| {
        screen.say(&format!(
            "warning: ignoring robots.txt{hosts}; crawl only sites that you own or have permission to crawl"
        ));
    };
    if config.crawl.robots == RobotsMode::Ignore {
        return warn("");
    }
    for entry in &config.domain {
        if entry.crawl.robots == Some(RobotsMode::Ignore) {
            let hosts: Vec<String> = entry.hosts.iter().map(ToString::to_string).collect();
            warn(&format!(" of {}", hosts.join(", ")));
        }
    }
}
