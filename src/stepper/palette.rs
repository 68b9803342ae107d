//! One colour a component, the same everywhere. Everything reads as well without.

use console::Style;

/// The style of a component's name.
pub fn component(name: &str) -> Style {
    let base = name.rsplit(" in ").next().unwrap_or(name);
    let style = Style::new();
    match base.split('/').next().unwrap_or(base) {
        "kube-apiserver" => style.blue().bold(),
        "kube-controller-manager" => style.magenta(),
        "kube-scheduler" => style.yellow(),
        "kubelet" => style.green(),
        "containerd" | "cni" => style.cyan(),
        "user" => style.bold(),
        other if other.ends_with("-controller") => style.magenta(),
        _ => style,
    }
}

/// Heads of sections.
pub fn label() -> Style {
    Style::new().dim()
}

/// A line, or an object, that is new.
pub fn added() -> Style {
    Style::new().green()
}

/// A line, or an object, that is gone.
pub fn removed() -> Style {
    Style::new().red()
}

/// The line that matters.
pub fn here() -> Style {
    Style::new().bold()
}

/// What went wrong.
pub fn error() -> Style {
    Style::new().red().bold()
}
