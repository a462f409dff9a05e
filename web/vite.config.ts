import { defineConfig } from "vite";

// `npm run dev` shows the sources against a running server.
const server = process.env.TIDEMARK_SERVER ?? "http://127.0.0.1:7021";
const proxy = { target: server, ws: true, changeOrigin: true, headers: { origin: server } };

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // nothing inline: the page's policy forbids it
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": proxy, "/metrics": proxy, "/health": proxy, "/ready": proxy } },
});
