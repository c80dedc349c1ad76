"use strict";
// Marks the section in view in the list of sections; opens what is folded before the page is printed.
(() => {
  const links = new Map([...document.querySelectorAll(".toc a")].map((a) => [a.hash.slice(1), a]));
  const seen = new Set();
  const mark = () => {
    let current = null;
    for (const id of links.keys()) if (seen.has(id) && current === null) current = id;
    for (const [id, a] of links) {
      if (id === current) a.setAttribute("aria-current", "true");
      else a.removeAttribute("aria-current");
    }
  };
  if ("IntersectionObserver" in window && links.size) {
    const watcher = new IntersectionObserver(
      (entries) => {
        for (const one of entries) {
          if (one.isIntersecting) seen.add(one.target.id);
          else seen.delete(one.target.id);
        }
        mark();
      },
      { rootMargin: "-64px 0px -40% 0px" },
    );
    for (const id of links.keys()) {
      const section = document.getElementById(id);
      if (section) watcher.observe(section);
    }
  }
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("main details:not([open]):not(.screen)")];
    for (const one of opened) one.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });
})();
