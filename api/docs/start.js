window.addEventListener("load", function () {
  window.ui = SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#docs",
    deepLinking: true,
    docExpansion: "list",
    displayRequestDuration: true,
    tryItOutEnabled: true,
    validatorUrl: null,
    syntaxHighlight: { theme: "nord" },
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
  });
});
