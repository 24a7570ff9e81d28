// What is shown on request, and where in the contents the reader is.
function showMore(event) {
  const target = event.target.closest?.("[data-show], [data-all]");
  if (!target) return;
  const { show, all } = target.dataset;
  if (all !== undefined) {
    const table = document.getElementById(all);
    table.classList.remove("first-5", "first-12");
    target.remove();
    table.closest(".scroll").focus();
    return;
  }
  const part = document.getElementById(show);
  part.hidden = !part.hidden;
  target.setAttribute("aria-expanded", String(!part.hidden));
  prepare(part);
}

function startContents() {
  const links = new Map([...document.querySelectorAll(".toc a")].map((link) => [link.hash.slice(1), link]));
  const parts = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  const seen = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) seen[isIntersecting ? "add" : "delete"](target);
    const current = parts.filter((part) => seen.has(part)).at(-1);
    for (const [id, link] of links) {
      if (current?.id === id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "0px 0px -70% 0px" });
  for (const part of parts) watch.observe(part);
}

document.addEventListener("click", showMore);
