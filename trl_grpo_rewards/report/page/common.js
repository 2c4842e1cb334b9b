"use strict";
// Texts of models are inserted as text nodes only. Texts for plotly are escaped, since plotly interprets some HTML.

const byId = (id) => document.getElementById(id);
const read = (id) => JSON.parse(byId(id).textContent);
const data = read("data");
const groups = read("records");
const points = data.points;
const dark = matchMedia("(prefers-color-scheme: dark)");

const INKS = ["--one", "--two", "--three", "--four", "--five", "--six", "--seven", "--eight"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const PAGE = 50;
const SETTINGS = { displayModeBar: false, responsive: true };

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const inked = (element, name) => (element.style.setProperty("--ink", `var(${name})`), element);
const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
const count = (number) => number.toLocaleString("en");
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

function percent(value) {
  if (value > 0 && value < 0.001) return "<0.1%";
  return `${(100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0)}%`;
}

function figure(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  return size >= 1000 ? count(Math.round(value)) : value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

function steps([first, last]) {
  return first === last ? `step ${count(first)}` : `steps ${count(first)} to ${count(last)}`;
}
