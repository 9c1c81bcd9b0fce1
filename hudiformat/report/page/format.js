// Numbers, sizes and instants as people read them.

const THIN = "\u202f"; // a narrow space at which no line breaks
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];

function count(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

function size(bytes) {
  let value = Math.abs(bytes);
  let place = 0;
  while (value >= 999.5 && place + 1 < UNITS.length) {
    value /= 1000;
    place += 1;
  }
  const digits = place === 0 || value >= 99.95 ? 0 : 1;
  return `${bytes < 0 ? "−" : ""}${value.toFixed(digits)}\u00a0${UNITS[place]}`;
}

function counted(number, noun) {
  return `${count(number)}\u00a0${noun}${number === 1 ? "" : "s"}`;
}

function percent(part, whole) {
  if (!whole) return "0\u00a0%";
  const share = (100 * part) / whole;
  return `${share > 0 && share < 1 ? "<\u202f1" : Math.round(share)}\u00a0%`;
}

// 20240229120000123 -> 2024-02-29 12:00:00; what is no time stays as it is.
function instant(text) {
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)\d*$/.exec(text);
  return parts ? `${parts[1]}-${parts[2]}-${parts[3]} ${parts[4]}:${parts[5]}:${parts[6]}` : text;
}

function day(text) {
  return instant(text).slice(0, 10);
}

function partitionName(path) {
  return path === "" ? "(the whole table)" : path;
}

function seconds(value) {
  if (value === null) return "";
  if (value < 1) return `${Math.round(1000 * value)}\u00a0ms`;
  if (value < 60) return `${value.toFixed(1)}\u00a0s`;
  return value < 3600 ? `${(value / 60).toFixed(1)}\u00a0min` : `${(value / 3600).toFixed(1)}\u00a0h`;
}

// The step of an axis with about so many marks: 1, 2 or 5 of a power of ten.
function niceStep(most, marks) {
  const rough = Math.max(most / marks, 1e-9);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((one) => one * power >= rough);
  return step * power;
}
