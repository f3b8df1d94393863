import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["src/api/schema.d.ts", "node_modules"] },
  js.configs.recommended,
  ...ts.configs.strict,
  {
    files: ["src/**/*.{ts,tsx}"],
    plugins: { "react-hooks": hooks },
    rules: {
      ...hooks.configs.recommended.rules,
      "no-restricted-syntax": [
        "error",
        {
          selector: "JSXText[value=/[A-Za-z]{2}/]",
          message: "Text goes through t(), so that it can be translated.",
        },
        {
          selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']",
          message: "Markup is never made from text.",
        },
        {
          selector: "Literal[regex.pattern=/\\(\\?<[=!]/]",
          message: "Safari before 16.4 reads no file that looks behind: all pages would be white.",
        },
      ],
      "no-restricted-globals": [
        "error",
        { name: "localStorage", message: "Use parts/preferences: nothing of a session is stored." },
      ],
    },
  },
);
