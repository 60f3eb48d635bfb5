// Starts Swagger UI on the document that the script tag names. Nothing is kept between visits and
// nobody else is asked: no validator badge, no stored keys.
const openapi = document.currentScript.dataset.openapi;
window.addEventListener("load", () => {
  SwaggerUIBundle({
    url: openapi,
    dom_id: "#page",
    deepLinking: true,
    persistAuthorization: false,
    tryItOutEnabled: true,
    validatorUrl: null,
  });
});
