//! `kubestep book`: builds the course, serves it, opens it; and its part in a stock `mdbook build`.

use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, anyhow, ensure};

use crate::build;
use crate::mdbook::{Plugin, speak};
use crate::serve::watch::{Built, Watch};
use crate::serve::{self, Site};
use crate::site;
use kubestep::cli::course::{Arguments, Course, Question};
use kubestep::cli::{out, port};
use lab::plug;

/// What the program does when it is asked for the course.
pub const COURSE: Course = Course { book: command, preprocess };

/// `kubestep book`.
fn command(arguments: &Arguments) -> anyhow::Result<()> {
    if let Some(name) = &arguments.exercise {
        drop(plug::part(name).map_err(|error| anyhow!(error))?);
    }
    let root = build::find()?;
    if let Some(site) = &arguments.site {
        let program = std::env::current_exe().context("this program's own file cannot be found")?;
        let module = arguments.module.clone().map_or_else(|| site::compile(&root.join("..")), Ok)?;
        site::build(&root, site, &program, &module)?;
        writeln!(out::text(), "The site is in {}: any web server can serve it.", site.display())?;
        return Ok(());
    }
    // Where the cluster was compiled for pages before, they have it too.
    let module = arguments.module.clone().or_else(|| site::compiled(&root.join("..")));
    let dest = arguments.dest.clone().unwrap_or_else(|| root.join("../target/book"));
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    // Whether the pages can be served is known before the work is done.
    let bind = || port::bind(Ipv4Addr::LOCALHOST, arguments.port, "another `kubestep book`");
    let listener = (!arguments.build_only).then(bind).transpose()?;
    let project = root.join("..");
    let watch = Watch::over(["book", "src", "scenarios"].map(|folder| project.join(folder)).to_vec());
    let pages = move |root: &Path, dest: &Path, program: &Path| match &module {
        Some(module) => site::build(root, dest, program, module),
        None => build::build(root, dest, program, &build::bar()),
    };
    pages(&root, &dest, &program)?;
    let dest = dest.canonicalize()?;
    let Some(listener) = listener else {
        writeln!(out::text(), "The course is in {}", dest.join("index.html").display())?;
        return Ok(());
    };
    let (address, built) = (listener.local_addr()?.to_string(), Arc::new(Built::default()));
    let token = port::secret();
    let url = serve::address_with_token(&address, &token);
    let words =
        "It is for this machine alone; a browser that has opened this address can run live sessions. Ctrl-C ends it.";
    // A pipe that its reader has closed is no reason to end.
    let _ = writeln!(out::text(), "The course is at {url}\n{words}");
    let again = (root, dest.clone(), program.clone());
    watch.start(built.clone(), move || pages(&again.0, &again.1, &again.2));
    if !arguments.no_open {
        open(&url);
    }
    let (project, exercise) = (project.canonicalize()?, arguments.exercise.clone());
    serve::run(listener, Site { folder: dest, project, exercise, program, token, address, built })
}

/// Opens an address with whatever this system opens addresses with. One that has nothing shows it on the terminal already.
fn open(address: &str) {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let silent = || Stdio::null();
    let opened =
        Command::new(program).args(arguments).arg(address).stdin(silent()).stdout(silent()).stderr(silent()).spawn();
    if opened.is_err() {
        // Nobody has to read it.
        let _ = writeln!(out::text(), "No browser could be opened; open the address yourself.");
    }
}

/// `kubestep preprocess`.
fn preprocess(question: Option<&Question>) -> anyhow::Result<()> {
    use mdbook_preprocessor::Preprocessor;
    let program = std::env::current_exe().context("this program's own file cannot be found")?;
    match question {
        Some(Question::Supports { renderer }) => {
            let supported = Plugin::new(program).supports_renderer(renderer)?;
            ensure!(supported, "the course is made of HTML, not for the renderer {renderer}");
            Ok(())
        }
        None => speak(io::stdin().lock(), io::stdout().lock(), program),
    }
}
