//! One colour a component, the same everywhere. Everything reads as well without.
//!
//! A terminal does not say whether its background is black or white. So each colour is one of the few of the 256 that can be
//! read on both: a contrast of 4.5 or more, as WCAG asks of text. The sixteen named colours are no such: what a theme
//! makes of dark blue cannot be read on black, and of yellow not on white.

use console::Style;

/// A colour of the 256, by its number.
type Colour = u8;

const GREEN: Colour = 29;
const BLUE: Colour = 63;
const PURPLE: Colour = 98;
const RED: Colour = 131;
const MAGENTA: Colour = 163;
const GREY: Colour = 243;

/// All of them.
pub const COLOURS: [Colour; 6] = [GREEN, BLUE, PURPLE, RED, MAGENTA, GREY];

fn of(colour: Colour) -> Style {
    Style::new().color256(colour)
}

/// The style of a component's name.
pub fn component(name: &str) -> Style {
    let base = name.rsplit(" in ").next().unwrap_or(name);
    match base.split('/').next().unwrap_or(base) {
        "kube-apiserver" => of(BLUE).bold(),
        "kube-controller-manager" => of(PURPLE),
        "kube-scheduler" => of(MAGENTA),
        "kubelet" => of(GREEN),
        "containerd" | "cni" => of(GREEN).bold(),
        "user" => Style::new().bold(),
        other if other.ends_with("-controller") => of(PURPLE),
        _ => Style::new(),
    }
}

/// Heads of sections.
pub fn label() -> Style {
    of(GREY)
}

/// A line, or an object, that is new.
pub fn added() -> Style {
    of(GREEN)
}

/// A line, or an object, that is gone.
pub fn removed() -> Style {
    of(RED)
}

/// The line that matters.
pub fn here() -> Style {
    Style::new().bold()
}

/// What went wrong.
pub fn error() -> Style {
    of(RED).bold()
}

/// A part of the screen that keys go to.
pub fn focus() -> Colour {
    MAGENTA
}

/// What stands around the others.
pub fn frame() -> Colour {
    GREY
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The red, green and blue of one of the 216 colours of the cube, or of the 24 greys.
    fn channels(colour: Colour) -> [u8; 3] {
        const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
        let level = |n: u8| LEVELS[usize::from(n % 6)];
        match colour.checked_sub(232) {
            Some(grey) => [8 + 10 * grey; 3],
            None => [level((colour - 16) / 36), level((colour - 16) / 6), level(colour - 16)],
        }
    }

    /// Relative luminance, as WCAG 2 has it.
    fn luminance(colour: Colour) -> f64 {
        let linear = |channel: u8| match f64::from(channel) / 255.0 {
            dark if dark <= 0.04045 => dark / 12.92,
            light => ((light + 0.055) / 1.055).powf(2.4),
        };
        let [red, green, blue] = channels(colour).map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    #[test]
    fn every_colour_can_be_read_on_black_and_on_white() {
        for colour in COLOURS {
            let (on_black, on_white) = ((luminance(colour) + 0.05) / 0.05, 1.05 / (luminance(colour) + 0.05));
            assert!(on_black >= 4.5 && on_white >= 4.5, "{colour}: {on_black:.2} on black, {on_white:.2} on white");
        }
    }

    #[test]
    fn nothing_has_another_colour() {
        let parts =
            ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet/node-1", "containerd/node-1", "x"];
        let styles = parts.map(component).into_iter().chain([label(), added(), removed(), here(), error()]);
        for style in styles {
            let text = style.force_styling(true).apply_to("x").to_string();
            let named = (30..38)
                .any(|colour| text.contains(&format!("[{colour}m")) || text.contains(&format!("[{}m", colour + 60)));
            let own = text.split("38;5;").nth(1).and_then(|rest| rest.split('m').next()?.parse().ok());
            assert!(!named && own.is_none_or(|own| COLOURS.contains(&own)), "{text:?}");
        }
    }
}
