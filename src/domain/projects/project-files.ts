/** Names that podyard.yaml may have. */
export const PROJECT_FILES = ['podyard.yaml', 'podyard.yml'];
