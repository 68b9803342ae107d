//! A scenario, and lines that are typed when it is over.

use cluster::Cluster;
use engine::What;
use kubestep_tests::scenario;

/// A cluster, and the user who types.
pub struct Bench(pub Cluster);

impl Bench {
    /// After the scene is set.
    pub fn new(scene: &str) -> Bench {
        Bench(scenario::settled(scene, 300))
    }

    /// Types a line and returns what it printed.
    pub fn line(&mut self, line: &str) -> String {
        scenario::said(&mut self.0, line, 300)
    }

    /// The same, and what was asked of the API server and of parts of nodes meanwhile.
    pub fn asked(&mut self, line: &str) -> Vec<String> {
        self.0.type_lines(vec![line.to_owned()]);
        let mut asked = Vec::new();
        while !self.0.is_quiet()
            && let Some(step) = self.0.step()
        {
            match &step.event.what {
                What::Request { request, .. } if !step.event.background => asked.push(request.line()),
                What::Rpc { message, .. } => asked.push(message.line()),
                _ => {}
            }
        }
        asked
    }
}
