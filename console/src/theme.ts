import './ui/touch-and-motion.css';
import { createTheme, type MantineColorsTuple } from '@mantine/core';

/** The one accent: links, primary buttons, the selected item. Shade 7 carries white text at 6:1. */
const YARD: MantineColorsTuple = [
  '#eaf7f7',
  '#d0eaeb',
  '#a3d5d8',
  '#70bdc2',
  '#41a6ad',
  '#22929a',
  '#12808a',
  '#0d6d77',
  '#095b64',
  '#054850',
];

export const DARK_BACKGROUND = '#121418';

/** Grays of the dark scheme: text 0 to 2, borders 4, raised 6, background 7, sunken 8. */
const DARK: MantineColorsTuple = [
  '#e4e6ea',
  '#b9bdc4',
  '#9ca1a9',
  '#7c828b',
  '#343940',
  '#282c32',
  '#1d2026',
  DARK_BACKGROUND,
  '#0d0f12',
  '#08090b',
];

/** Type in four sizes, `sm` for nearly everything; space in steps of 4 px. docs/decisions/0056 says what to use when. */
const CLOSABLE = { closeButtonProps: { 'aria-label': 'Close' } };
/** Their element is a `header`, which would be a second banner of the page. */
const NO_LANDMARK = { role: 'presentation' };

export const theme = createTheme({
  respectReducedMotion: true,
  primaryColor: 'yard',
  primaryShade: { light: 7, dark: 7 },
  colors: { yard: YARD, dark: DARK },
  defaultRadius: 'md',
  radius: { xs: '3px', sm: '4px', md: '6px', lg: '10px', xl: '16px' },
  spacing: { xs: '8px', sm: '12px', md: '16px', lg: '24px', xl: '32px' },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  lineHeights: { xs: '1.4', sm: '1.5', md: '1.55', lg: '1.5', xl: '1.4' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.5rem', lineHeight: '1.3' },
      h2: { fontSize: '1.25rem', lineHeight: '1.35' },
      h3: { fontSize: '1rem', lineHeight: '1.4' },
      h4: { fontSize: '0.9375rem', lineHeight: '1.45' },
      h5: { fontSize: '0.8125rem', lineHeight: '1.5' },
    },
  },
  components: {
    Modal: { defaultProps: CLOSABLE, styles: { title: { fontWeight: 600 } } },
    ModalHeader: { defaultProps: NO_LANDMARK },
    Drawer: { defaultProps: CLOSABLE, styles: { title: { fontWeight: 600 } } },
    DrawerHeader: { defaultProps: NO_LANDMARK },
    Button: { defaultProps: { size: 'sm' }, styles: { label: { fontWeight: 550 } } },
  },
});
