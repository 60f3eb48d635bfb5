// Starts Redoc on the document that the script tag names, with the visitor's own fonts.
const openapi = document.currentScript.dataset.openapi;
window.addEventListener("load", () => {
  const fontFamily = "system-ui, sans-serif";
  const options = {
    nativeScrollbars: true,
    theme: {
      typography: {
        fontFamily,
        headings: { fontFamily },
        code: { fontFamily: "ui-monospace, monospace" },
      },
    },
  };
  Redoc.init(openapi, options, document.getElementById("page"));
});
