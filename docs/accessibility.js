// The theme puts the button that copies a code block into a landmark, and landmarks must have names that differ. What
// scrolls must be within reach of the keyboard.
new MutationObserver(() => {
  document.querySelectorAll(".md-code__nav").forEach((nav, place) => {
    nav.setAttribute("aria-label", `Code block ${place + 1}`);
  });
  document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code, .formula").forEach((wide) => {
    wide.tabIndex = 0;
  });
}).observe(document.body, { childList: true, subtree: true });
