import { createTheme } from '@mantine/core';

export const theme = createTheme({
  respectReducedMotion: true,
  primaryColor: 'cyan',
  primaryShade: { light: 9, dark: 9 },
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  headings: { fontWeight: '650' },
  components: {
    Modal: { styles: { title: { fontWeight: 650 } } },
    Drawer: { styles: { title: { fontWeight: 650 } } },
  },
});
