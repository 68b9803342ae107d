// What the page shows, as a drawing that stands alone: an SVG file. A walk over the elements: boxes with their borders, words line
// by line where the browser has laid them, and the paths of drawings inside. Colours are those of the theme.
"use strict";
(() => {
  const MARGIN = 20, LINE = 21, HEAD = { title: "600 15px", words: "400 13.5px" };
  const SVG = "http://www.w3.org/2000/svg";
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  function svg(tag, attributes = {}, ...children) {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) node.setAttribute(key, typeof value === "number" ? Math.round(value * 100) / 100 : value);
    node.append(...children);
    return node;
  }

  /** A colour as old readers of SVG know it: `#rrggbb`, and how opaque it is. */
  function colour(text) {
    if (!text || text === "none" || text.startsWith("url")) return { ink: "none", alpha: 0 };
    pen.canvas.width = pen.canvas.height = 1;
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return { ink: `#${[r, g, b].map((part) => part.toString(16).padStart(2, "0")).join("")}`, alpha: a / 255 };
  }

  class Drawing {
    constructor(root) {
      this.frame = root.getBoundingClientRect();
      this.pieces = [];
      this.clips = [];
      this.element(root, { alpha: 1, z: 0, clip: null });
      // What has been lifted is above what was drawn later.
      this.pieces.sort((a, b) => a.z - b.z);
    }

    add(piece, { z, clip }) {
      this.pieces.push({ z, node: clip ? svg("g", { "clip-path": `url(#${clip})` }, piece) : piece });
    }

    place(rect) {
      return { x: rect.left - this.frame.left, y: rect.top - this.frame.top, width: rect.width, height: rect.height };
    }

    element(element, above) {
      const style = getComputedStyle(element);
      if (style.display === "none" || style.visibility === "hidden") return;
      const lifted = style.position !== "static" && Number(style.zIndex);
      const within = { alpha: above.alpha * Number(style.opacity), z: lifted || above.z, clip: above.clip };
      if (element instanceof SVGElement) return this.shapes(element, within);
      if (style.display !== "contents") this.box(element, style, within);
      const cut = style.overflowX !== "visible" && (element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight);
      if (cut) {
        const id = `cut-${this.clips.length}`;
        this.clips.push(svg("clipPath", { id }, svg("rect", this.place(element.getBoundingClientRect()))));
        within.clip = id;
      }
      this.before(element, style, within);
      for (const child of element.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) this.text(child, style, within);
        else if (child.nodeType === Node.ELEMENT_NODE) this.element(child, within);
      }
    }

    /** A box: its ring, its ground, its border; sides that differ from the upper one are bars. */
    box(element, style, within) {
      const rect = this.place(element.getBoundingClientRect()), round = parseFloat(style.borderTopLeftRadius) || 0;
      const rounding = Math.min(style.borderTopLeftRadius.endsWith("%") ? rect.width * round / 100 : round, rect.width / 2, rect.height / 2);
      const [, ring, spread] = style.boxShadow.match(/^(.+?) 0px 0px 0px ([\d.]+)px$/) || [];
      const put = (name, attributes) => this.add(svg(name, attributes), within);
      if (ring) {
        const { ink, alpha } = colour(ring), wide = Number(spread);
        put("rect", { x: rect.x - wide / 2, y: rect.y - wide / 2, width: rect.width + wide, height: rect.height + wide, rx: rounding + wide / 2, fill: "none", stroke: ink, "stroke-opacity": alpha * within.alpha, "stroke-width": wide });
      }
      const side = (name) => {
        const wide = style[`border${name}Style`] === "none" ? 0 : parseFloat(style[`border${name}Width`]), { ink, alpha } = colour(style[`border${name}Color`]);
        return { wide: alpha ? wide : 0, ink, alpha: alpha * within.alpha, dashed: style[`border${name}Style`] === "dashed" };
      };
      const [top, right, bottom, left] = ["Top", "Right", "Bottom", "Left"].map(side), ground = colour(style.backgroundColor);
      const half = top.wide / 2;
      if (ground.alpha || top.wide) {
        put("rect", { x: rect.x + half, y: rect.y + half, width: Math.max(0, rect.width - top.wide), height: Math.max(0, rect.height - top.wide), rx: Math.max(0, rounding - half) || null, fill: ground.alpha ? ground.ink : "none",
          "fill-opacity": ground.alpha ? ground.alpha * within.alpha : null, stroke: top.wide ? top.ink : null, "stroke-opacity": top.wide ? top.alpha : null, "stroke-width": top.wide || null, "stroke-dasharray": top.wide && top.dashed ? `${top.wide * 2.5} ${top.wide * 2}` : null });
      }
      const bar = ({ wide, ink, alpha }, x, y, width, height) => wide && (wide !== top.wide || ink !== top.ink) && put("rect", { x, y, width, height, rx: rounding ? Math.min(rounding, wide / 2) : null, fill: ink, "fill-opacity": alpha });
      bar(left, rect.x, rect.y, left.wide, rect.height);
      bar(right, rect.x + rect.width - right.wide, rect.y, right.wide, rect.height);
      bar(bottom, rect.x, rect.y + rect.height - bottom.wide, rect.width, bottom.wide);
    }

    /** Words that the stylesheet sets beside an element, such as the arrow between two stages. */
    before(element, style, within) {
      const beside = getComputedStyle(element, "::before"), text = beside.content.match(/^"(.+)"$/)?.[1];
      if (!text || beside.position !== "absolute") return;
      const rect = this.place(element.getBoundingClientRect()), x = rect.x + parseFloat(style.borderLeftWidth) + parseFloat(beside.left), y = rect.y + parseFloat(style.borderTopWidth) + parseFloat(beside.top);
      this.line(text, { x, y, height: parseFloat(beside.height) || LINE, width: null }, beside, { ...within, alpha: within.alpha * Number(beside.opacity) });
    }

    /** A text in as many lines as it has on the page. */
    text(node, style, within) {
      if (!node.data.trim()) return;
      const range = document.createRange(), lines = [];
      const take = (from, to) => {
        range.setStart(node, from);
        range.setEnd(node, to);
        const rects = [...range.getClientRects()].filter(({ width }) => width);
        // A word that is broken is read letter by letter.
        if (rects.length > 1 && to - from > 1) return [...node.data.slice(from, to)].reduce((at, letter) => (take(at, at + letter.length), at + letter.length), from);
        if (!rects.length) return null;
        const [rect] = rects, last = lines.at(-1);
        if (last && Math.abs(last.top - rect.top) < 2 && rect.left >= last.right - 1) Object.assign(last, { right: rect.right, to });
        else lines.push({ top: rect.top, left: rect.left, right: rect.right, height: rect.height, from, to });
        return null;
      };
      for (const { index, 0: word } of node.data.matchAll(/\s+|\S+/g)) take(index, index + word.length);
      for (const { top, left, right, height, from, to } of lines) {
        const text = node.data.slice(from, to).replace(/\n/g, " ");
        if (text.trim()) this.line(style.textTransform === "uppercase" ? text.toUpperCase() : text, { ...this.place({ left, top, width: right - left, height }) }, style, within);
      }
    }

    line(text, { x, y, width, height }, style, within) {
      pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = pen.measureText(text), { ink, alpha } = colour(style.color);
      this.add(svg("text", { x, y: y + (height - up - down) / 2 + up, textLength: width, lengthAdjust: width ? "spacingAndGlyphs" : null, fill: ink, "fill-opacity": alpha * within.alpha, "font-family": style.fontFamily, "font-size": style.fontSize,
        "font-weight": style.fontWeight, "font-style": style.fontStyle === "normal" ? null : style.fontStyle, style: "white-space:pre" }, text), within);
    }

    /** The shapes of a drawing in the page, with the strokes that the stylesheet gives them. */
    shapes(element, within) {
      for (const child of element.children) this.element(child, within);
      if (!(element instanceof SVGGeometryElement)) return;
      const style = getComputedStyle(element), { a, b, c, d, e, f } = element.getScreenCTM(), fill = colour(style.fill), stroke = colour(style.stroke);
      if (!fill.alpha && !stroke.alpha) return;
      const shape = svg(element.tagName, { transform: `matrix(${[a, b, c, d, e - this.frame.left, f - this.frame.top].map((part) => Math.round(part * 1000) / 1000).join(" ")})`, fill: fill.alpha ? fill.ink : "none", "fill-opacity": fill.alpha ? fill.alpha * within.alpha : null });
      for (const name of ["d", "cx", "cy", "r", "x", "y", "width", "height", "rx"]) if (element.hasAttribute(name)) shape.setAttribute(name, element.getAttribute(name));
      if (stroke.alpha) {
        for (const name of ["stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-dasharray"]) shape.setAttribute(name, style.getPropertyValue(name).replace(/px/g, ""));
        shape.setAttribute("stroke", stroke.ink);
        shape.setAttribute("stroke-opacity", stroke.alpha * within.alpha);
      }
      this.add(shape, within);
    }
  }

  /** A text in lines that are no wider than `width`. */
  function wrapped(text, font, width) {
    pen.font = font;
    return text.split(/\s+/).reduce((lines, word) => {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && pen.measureText(longer).width <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
      return lines;
    }, []);
  }

  /** What an element shows, as the text of an SVG file. `title` stands above it, then `words`: one text a paragraph. */
  function picture(element, title, words) {
    const drawing = new Drawing(element), { width, height } = drawing.frame, page = getComputedStyle(element);
    const ground = [...function* up() { for (let at = element; at; at = at.parentElement) yield colour(getComputedStyle(at).backgroundColor); }()].find(({ alpha }) => alpha === 1) || { ink: "#ffffff" };
    const ink = colour(page.color).ink, lines = [];
    for (const [text, font] of [[title, HEAD.title], ...words.map((one) => [one, HEAD.words])]) for (const line of wrapped(text, `${font} ${page.fontFamily}`, width)) lines.push([line, font.split(" ")]);
    const head = lines.map(([line, [weight, size]], n) => svg("text", { x: MARGIN, y: MARGIN + LINE * (n + 0.7), fill: ink, "font-family": page.fontFamily, "font-size": size, "font-weight": weight }, line));
    const top = MARGIN + LINE * lines.length + 10, [wide, tall] = [Math.ceil(width + 2 * MARGIN), Math.ceil(top + height + MARGIN)];
    const root = svg("svg", { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, role: "img", "aria-label": title }, svg("title", {}, title), svg("desc", {}, words.join("\n")), svg("defs", {}, ...drawing.clips),
      svg("rect", { width: wide, height: tall, fill: ground.ink }), ...head, svg("g", { transform: `translate(${MARGIN} ${top})` }, ...drawing.pieces.map(({ node }) => node)));
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(root)}\n`;
  }

  window.Kubestep.picture = picture;
})();
