// Elements are made here alone: texts become text nodes, never HTML.

const SVG = "http://www.w3.org/2000/svg";

function byId(id) {
  return document.getElementById(id);
}

function add(parent, children) {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) parent.append(child instanceof Node ? child : String(child));
  }
  return parent;
}

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  return add(made, children);
}

function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return add(made, children);
}

function button(text, action, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

function fill(host, ...children) {
  host.replaceChildren();
  return add(host, children);
}

function note(text) {
  return element("p", { class: "note" }, text);
}

function say(text) {
  byId("spoken").textContent = text;
}

// Calls draw(width) now, and whenever the element has another width.
function whenSized(host, draw) {
  let width = 0;
  const look = () => {
    const now = Math.floor(host.clientWidth);
    if (now > 0 && now !== width) {
      width = now;
      draw(width);
    }
  };
  new ResizeObserver(look).observe(host);
  look();
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
