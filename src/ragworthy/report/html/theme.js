"use strict";
// Light or dark: as the system says, until the button is pressed. Nothing is kept when the page is left.
(() => {
  const button = document.getElementById("theme");
  if (!button) return;
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const tell = () => {
    button.setAttribute("aria-pressed", String(isDark()));
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    tell();
  });
  system.addEventListener("change", tell);
  button.hidden = false;
  tell();
})();
