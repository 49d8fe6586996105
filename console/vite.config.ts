import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** URLs are relative, so that the console works under any public URL, including one with a path. */
export default defineConfig({
  base: './',
  plugins: [react()],
  build: { target: 'es2022', chunkSizeWarningLimit: 700, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { '/v2': 'http://127.0.0.1:8080' } },
});
