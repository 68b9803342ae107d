//! A scenario, and lines that are typed when it is over.

use std::time::Duration;

use kubestep::bugs;
use kubestep::cluster::Cluster;
use kubestep::cluster::scenario::Scenario;
use kubestep::engine::What;

/// A cluster, and whoever types.
pub struct Bench(pub Cluster);

impl Bench {
    /// After the scene is set.
    pub fn new(scene: &str) -> Bench {
        let scenario = Scenario::parse("bench", scene).unwrap_or_else(|error| panic!("{error}"));
        let mut cluster = bugs::cluster(&scenario);
        cluster.settle(Duration::from_secs(300));
        Bench(cluster)
    }

    /// Types a line and returns what it printed.
    pub fn line(&mut self, line: &str) -> String {
        let before = self.0.kubectl.printed();
        self.0.type_lines(vec![line.to_owned()]);
        self.0.settle(Duration::from_secs(300));
        let said = self.0.kubectl.printed_since(before);
        said.split_once('\n').map_or(String::new(), |(_, said)| said.trim_end().to_owned())
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
