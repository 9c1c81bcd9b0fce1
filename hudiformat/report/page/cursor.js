// One place of a picture at a time is shown in a tip, by the mouse or by the arrow keys, and spoken.

const tip = {
  show(lines, x, y) {
    const box = byId("tip");
    fill(box, lines.map((line, place) => element(place === 0 ? "strong" : "span", {}, line)));
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const left = Math.max(4, Math.min(x + 12, document.documentElement.clientWidth - width - 4));
    const top = y + 16 + height > window.innerHeight ? y - height - 12 : y + 16;
    box.style.left = `${left}px`;
    box.style.top = `${Math.max(4, top)}px`;
  },
  hide() {
    byId("tip").hidden = true;
  },
};

// picture: focusable; places(): how many; at(x, y): a place, or -1; where(place): [x, y] in the picture;
// lines(place): what is told; mark(place): shows it, or nothing for -1.
function cursor(picture, { places, at, where, lines, mark }) {
  let place = -1;
  const go = (next, x, y, spoken) => {
    place = next;
    mark(place);
    if (place < 0) {
      tip.hide();
      return;
    }
    const told = lines(place);
    tip.show(told, x, y);
    if (spoken) say(told.join(", "));
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const found = at(event.clientX - box.left, event.clientY - box.top);
    go(found, event.clientX, event.clientY, false);
  });
  picture.addEventListener("pointerleave", () => go(-1));
  picture.addEventListener("blur", () => go(-1));
  picture.addEventListener("keydown", (event) => {
    const last = places() - 1;
    const moves = {
      ArrowRight: Math.min(place + 1, last),
      ArrowLeft: place < 0 ? last : Math.max(place - 1, 0),
      Home: 0,
      End: last,
      Escape: -1,
    };
    if (!(event.key in moves) || last < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = moves[event.key];
    if (next < 0) {
      go(-1);
      return;
    }
    const [x, y] = where(next);
    const scroller = picture.closest(".scroll");
    if (scroller) scroller.scrollLeft = x - scroller.clientWidth / 2;
    const box = picture.getBoundingClientRect();
    go(next, box.left + x, box.top + y, true);
  });
}
