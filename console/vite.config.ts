import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** URLs are relative, so that the console works under any public URL, including one with a path. */
export default defineConfig({
  base: './',
  plugins: [react()],
  build: {
    target: 'es2022',
    // Browsers with light-dark() of their own: its replacement doesn't know the scheme that the user chose.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    chunkSizeWarningLimit: 700,
    assetsInlineLimit: 0,
    cssCodeSplit: false, // 6 KB of 260 are the pages' own, and a page whose styles fail to load later is drawn without
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/v2': 'http://127.0.0.1:8080' } },
});
