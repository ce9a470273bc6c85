// What is checked in TypeScript beyond its types: `make lint`. Few rules: promises that nobody waits for, cases that are
// forgotten, and markup that is made of text, which a message could use.

import tseslint from "typescript-eslint";

/** The ways in which a text becomes markup or code. */
const MARKUP = ["innerHTML", "outerHTML", "insertAdjacentHTML", "srcdoc", "dangerouslySetInnerHTML"].map((name) => `:matches(Identifier, JSXIdentifier)[name="${name}"]`);

export default tseslint.config(
  { ignores: ["**/node_modules/", "**/dist/", "**/built/"] },
  {
    files: ["inspector/src/**/*.{ts,tsx}", "typescript/src/**/*.{ts,tsx}"],
    languageOptions: { parser: tseslint.parser, parserOptions: { project: ["inspector/tsconfig.json", "typescript/tsconfig.json"], tsconfigRootDir: import.meta.dirname } },
    plugins: { ts: tseslint.plugin },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "ts/await-thenable": "error",
      "ts/no-floating-promises": "error",
      "ts/no-misused-promises": "error",
      "ts/only-throw-error": "error",
      "ts/prefer-promise-reject-errors": "error",
      "ts/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "ts/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "ts/no-unused-expressions": ["error", { allowShortCircuit: true, allowTernary: true }],
      "ts/no-implied-eval": "error",
      "array-callback-return": "error",
      eqeqeq: ["error", "always"],
      "no-console": "error",
      "no-eval": "error",
      "no-new-func": "error",
      "no-restricted-syntax": ["error", { selector: MARKUP.join(", "), message: "Text of a message must not become markup." }, { selector: 'CallExpression[callee.object.name="document"][callee.property.name="write"]', message: "Text of a message must not become markup." }],
      "prefer-const": "error",
    },
  },
);
