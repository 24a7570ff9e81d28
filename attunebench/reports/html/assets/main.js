// Starts everything; what fails is said, not swallowed.
addEventListener("unhandledrejection", (event) => failed(event.reason));
document.addEventListener("keydown", moved);
dialog.addEventListener("keydown", stepped);
startTheme();
prepare(document.querySelector("main"));
document.addEventListener("toggle", (event) => unfold(event.target), true);
startParts();
startContents();
startLinks();
startPrint();
