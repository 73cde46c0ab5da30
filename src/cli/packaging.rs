//! `gleaner completions` and `gleaner man`, for packagers. Both are generated from the declarations
//! that `--help` is generated from.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{Cli, Failure, output};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner completions bash > ~/.local/share/bash-completion/completions/gleaner
  gleaner completions fish > ~/.config/fish/completions/gleaner.fish
  gleaner completions zsh | sudo tee /usr/local/share/zsh/site-functions/_gleaner")]
pub(super) struct CompletionsArguments {
    /// Shell to generate completions for
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  gleaner man | man -l -
  gleaner man --dir ~/.local/share/man/man1")]
pub(super) struct ManArguments {
    /// Write one page per command into this directory, which is created if necessary
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn completions(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    let mut command = without_hidden(&Cli::command()).version(env!("CARGO_PKG_VERSION"));
    clap_complete::generate(arguments.shell, &mut command, "gleaner", &mut script);
    output::print_data(&String::from_utf8_lossy(&script))?;
    Ok(())
}

/// The command without its hidden arguments and subcommands, which would be completed otherwise.
fn without_hidden(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|it| !it.is_hide_set());
    let inner = command.get_subcommands().filter(|it| !it.is_hide_set());
    Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .args(arguments.cloned())
        .subcommands(inner.map(without_hidden))
}

pub(super) fn man(arguments: &ManArguments) -> Result<(), Failure> {
    let Some(directory) = &arguments.dir else {
        let page = render(Cli::command()).context("cannot write the page")?;
        output::print_data(&String::from_utf8_lossy(&page))?;
        return Ok(());
    };
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    fs::create_dir_all(directory)
        .with_context(|| format!("cannot create the directory {}", directory.display()))?;
    let mut waiting = vec![command];
    while let Some(command) = waiting.pop() {
        let inner = command.get_subcommands().filter(|it| !it.is_hide_set());
        waiting.extend(inner.cloned());
        let name = command.get_display_name().unwrap_or(command.get_name());
        let path = directory.join(format!("{name}.1"));
        let page = render(command).context("cannot write the page")?;
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn render(command: Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let version = concat!("gleaner ", env!("CARGO_PKG_VERSION"));
    Man::new(command).source(version).render(&mut page)?;
    Ok(page)
}
