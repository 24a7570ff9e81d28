// Printing: the verdicts and the leaderboard, on request with the charts, or with charts and tables. What is folded is
// unfolded for it and folded again.
const ALWAYS_PRINTED = "#board details";
const unfoldedForPrint = new Set();

function unfoldForPrint(selector) {
  const folds = [...document.querySelectorAll(selector)].filter((one) => !one.open);
  for (const one of folds) {
    one.open = true;
    unfoldedForPrint.add(one);
  }
  return Promise.all(folds.map(unfold));
}

async function printed(kind) {
  document.getElementById("print").hidePopover?.();
  root.dataset.print = kind;
  if (kind === "tables") {
    await unfoldForPrint("main details:not(.stops)");
    await unfoldForPrint("main details.body details");
  }
  print();
}

function startPrint() {
  for (const one of document.querySelectorAll("#print [data-kind]")) one.addEventListener("click", () => printed(one.dataset.kind));
  addEventListener("beforeprint", () => unfoldForPrint(ALWAYS_PRINTED));
  addEventListener("afterprint", () => {
    for (const one of unfoldedForPrint) one.open = false;
    unfoldedForPrint.clear();
    delete root.dataset.print;
  });
}
