"use strict";
// Texts of models are inserted as text nodes only. Texts for plotly are escaped, since plotly interprets some HTML.

const byId = (id) => document.getElementById(id);
const read = (id) => JSON.parse(byId(id).textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");

const data = read("data");
const groups = read("records").flatMap((sample, run) => sample.map((group) => Object.assign(group, { run })));

const INKS = ["--one", "--two", "--three", "--four", "--five", "--six", "--seven", "--eight"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
const PAGE = 50;

const several = () => data.runs.length > 1;
const fileName = () => data.runs.map(({ name }) => name).join("-");

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** An element that scrolls, and that a reader reaches by keyboard. */
function scrollable(tag, className, label, ...children) {
  const element = make(tag, { className, tabIndex: 0 }, ...children);
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", label);
  return element;
}

const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const inked = (element, name) => (element.style.setProperty("--ink", `var(${name})`), element);
const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
/** A name without its middle, since names of runs often differ only at the end. */
const middleless = (text, length) => (
  text.length > length ? `${text.slice(0, Math.floor(length / 2) - 1)}…${text.slice(-Math.floor(length / 2))}` : text);
const count = (number) => number.toLocaleString("en");
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

/** The text with its numbers in elements that no line break divides. */
function unbroken(text) {
  const parts = text.split(/(\d[\d.,:/]{0,23}\d)(?!\d)/);
  return parts.map((part, place) => (place % 2 ? make("span", { className: "whole" }, part) : part));
}

function percent(value) {
  if (value > 0 && value < 0.001) return "<0.1%";
  return `${(100 * value).toFixed(value > 0 && value < 0.1 ? 1 : 0)}%`;
}

function figure(value) {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return count(Math.round(value));
  if (size > 0 && size < 0.0995) return value.toPrecision(2);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

function duration(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours) return `${count(hours)}\u00a0h ${minutes}\u00a0min`;
  return minutes ? `${minutes}\u00a0min ${Math.floor(seconds % 60)}\u00a0s` : `${figure(seconds)}\u00a0s`;
}

function steps([first, last]) {
  return first === last ? `step ${count(first)}` : `steps ${count(first)} to ${count(last)}`;
}

/** The part of the address after # that leads to a group, or to the groups of some steps. */
const groupLink = (group) => `#${several() ? `run${group.run + 1}-` : ""}step${group.step}-${group.group}`;
const stepsLink = ([first, last]) => (first === last ? `#step${first}` : `#steps${first}-${last}`);
