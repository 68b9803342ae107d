//! From chapters with directives to chapters without.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::block::{self, Block, Directive, Mistake};
use debugger::scene::Scene;

use super::scene::page::Form;
use super::scene::{self, Ask};
use super::{case, code, exercise, html, kind, leader, links, minutes, poster, quiz, svg, transcript};

/// What directives need to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The project's folder, in which source is found and transcripts run.
    pub project: PathBuf,
    /// This program, for transcripts.
    pub program: PathBuf,
    /// Where the source can be read on the web, if anywhere.
    pub source: Option<String>,
    /// Whether transcripts that differ are written anew.
    pub bless: bool,
}

/// Carries directives out. What has been recorded is kept for other chapters.
pub struct Directives {
    settings: Settings,
    scenes: BTreeMap<String, Rc<Scene>>,
}

/// A chapter without directives.
pub struct Done {
    /// Its Markdown.
    pub content: String,
    /// Its source with transcripts written anew; none if they are right.
    pub blessed: Option<String>,
    /// What could not be carried out; the chapter is of no use then.
    pub mistakes: Vec<Mistake>,
}

impl Directives {
    /// Nothing is recorded yet.
    pub fn new(settings: Settings) -> Directives {
        Directives { settings, scenes: BTreeMap::new() }
    }

    /// Carries out a chapter's directives. All mistakes are told, not only the first.
    pub fn chapter(&mut self, source: &str) -> Done {
        let (blocks, mut mistakes) = match block::find(source) {
            Ok(blocks) => (blocks, Vec::new()),
            Err(mistakes) => (Vec::new(), mistakes),
        };
        mistakes.extend(links::check(source));
        let (mut content, mut blessed, mut at) = (String::new(), String::new(), 0);
        for (number, block) in (1..).zip(&blocks) {
            let (html, anew) = self.block(block, number).unwrap_or_else(|mistake| {
                mistakes.push(mistake);
                (String::new(), None)
            });
            content += &source[at..block.range.start];
            content += &html;
            blessed += &source[at..block.inner.start];
            blessed += anew.as_deref().unwrap_or(&block.body);
            blessed += &source[block.inner.end..block.range.end];
            at = block.range.end;
        }
        content += &source[at..];
        let content = minutes::say(content, minutes::of(source, &blocks));
        blessed += &source[at..];
        Done { content, blessed: (blessed != source).then_some(blessed), mistakes }
    }

    fn block(&mut self, block: &Block, number: usize) -> Result<(String, Option<String>), Mistake> {
        let Settings { project, program, source, bless } = &self.settings;
        let only = |html: String| (html, None);
        match block.directive {
            Directive::Quiz => quiz::render(block, number).map(only),
            Directive::Exercise => exercise::render(block).map(only),
            Directive::Case => case::render(block).map(only),
            Directive::Kind => kind::render(block, project).map(only),
            Directive::Leader => leader::render(block).map(only),
            Directive::Poster => self.poster(block).map(only),
            Directive::Code => code::render(block, project, source.as_deref()).map(only),
            Directive::Transcript => {
                let shown = transcript::render(block, program, project, *bless)?;
                Ok((shown.html, shown.anew))
            }
            Directive::Scene => {
                block.only(&["from", "to", "seed", "title", "captions", "form"])?;
                let ask = self.ask(block, block.word("a scenario's name")?)?;
                let scene = self.record(block, &ask)?;
                let title = block.option("title").unwrap_or(&scene.title);
                let form = match block.option("form") {
                    None => Form::Player,
                    Some("cover") => Form::Cover,
                    Some(other) => return Err(block.mistake(format!("form={other}: only form=cover is known"))),
                };
                Ok(only(scene::page::html(&scene, title, form)))
            }
            Directive::Diagram => self.diagram(block).map(only),
        }
    }

    fn poster(&mut self, block: &Block) -> Result<String, Mistake> {
        block.only(&["title"])?;
        let scenario = block.word("a scenario's name")?.to_owned();
        let hops = poster::hops(block)?;
        let captions = hops.iter().map(|hop| (hop.condition.clone(), hop.text.clone())).collect();
        let to = hops.last().map(|hop| hop.condition.clone()).unwrap_or_default();
        let ask = Ask { scenario, captions, to, ..Ask::default() };
        let scene = self.record(block, &ask)?;
        Ok(poster::draw(block.option("title").unwrap_or(&scene.title), &hops, &scene))
    }

    fn diagram(&mut self, block: &Block) -> Result<String, Mistake> {
        block.only(&["scenario", "from", "to", "seed", "title", "pod"])?;
        let kind = block.word("sequence, topology or conditions")?;
        let scenario = block.option("scenario").ok_or_else(|| block.mistake("write scenario=NAME"))?;
        let ask = self.ask(block, scenario)?;
        let scene = self.record(block, &ask)?;
        let picture = match kind {
            "sequence" => svg::sequence(&scene),
            "topology" => svg::topology(&scene),
            "conditions" => {
                let pod = block.option("pod").ok_or_else(|| block.mistake("write pod=NAME, or how its name begins"))?;
                svg::conditions(&scene, pod).map_err(|error| block.mistake(error))?
            }
            other => return Err(block.mistake(format!("{other:?} is none of sequence, topology, conditions"))),
        };
        let title = html::prose(block.option("title").unwrap_or(&scene.title));
        Ok(format!(
            "<figure class=\"ks-diagram\" tabindex=\"0\" aria-label=\"Diagram\">{picture}<figcaption>{title}</figcaption></figure>\n"
        ))
    }

    fn ask(&self, block: &Block, scenario: &str) -> Result<Ask, Mistake> {
        let seed = match block.option("seed") {
            Some(text) => Some(text.parse().map_err(|_| block.mistake(format!("seed={text} is no number")))?),
            None => None,
        };
        let condition = |key: &str| block.option(key).unwrap_or_default().to_owned();
        let mut captions = captions(block)?;
        match block.option("captions") {
            None => {}
            Some("tour") => {
                let scenario = cluster::scenario::Scenario::find(scenario).map_err(|error| block.mistake(error))?;
                let places = scenario.tour.into_iter().filter(|place| !place.until.is_empty());
                captions.extend(places.map(|place| (place.until, place.text)));
            }
            Some(other) => return Err(block.mistake(format!("captions={other}: only captions=tour is known"))),
        }
        Ok(Ask { scenario: scenario.to_owned(), seed, from: condition("from"), to: condition("to"), captions })
    }

    fn record(&mut self, block: &Block, ask: &Ask) -> Result<Rc<Scene>, Mistake> {
        let key = format!("{ask:?}");
        if let Some(scene) = self.scenes.get(&key) {
            return Ok(scene.clone());
        }
        let scene = Rc::new(scene::record(ask).map_err(|error| block.mistake(error))?);
        self.scenes.insert(key, scene.clone());
        Ok(scene)
    }
}

/// The lines of a scene's block: `condition: what is said there`. A line that is indented goes on with the one before.
fn captions(block: &Block) -> Result<Vec<(String, String)>, Mistake> {
    if block.directive != Directive::Scene {
        return Ok(Vec::new());
    }
    let mut captions: Vec<(String, String)> = Vec::new();
    for (line, text) in (block.line + 1..).zip(block.body.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        match (text.starts_with(' '), captions.last_mut()) {
            (true, Some((_, caption))) => *caption += text,
            _ => {
                let (condition, caption) =
                    text.split_once(": ").ok_or_else(|| Mistake::new(line, "write CONDITION: what is said there"))?;
                captions.push((condition.trim().to_owned(), caption.to_owned()));
            }
        }
    }
    Ok(captions)
}

/// `book/src/03-api.md:12: what is wrong`, a line each.
pub fn report(chapter: &Path, mistakes: &[Mistake]) -> String {
    let line = |mistake: &Mistake| format!("{}:{}: {}", chapter.display(), mistake.line, mistake.text);
    mistakes.iter().map(line).collect::<Vec<_>>().join("\n")
}
