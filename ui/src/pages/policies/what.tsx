import type { Schemas } from "../../api/client";
import { Tokens } from "../../parts/tokens";
import { t } from "../../words";
import type { PolicyInfo } from "./policy";
import { Section } from "./section";
import { fitting, readPrivilege, suggestPrivilege } from "./vocabulary";

interface WhatProps {
  realm: string;
  vocabulary?: Schemas["Vocabulary"];
  info: PolicyInfo;
  base: PolicyInfo;
  onChange: (privileges: string[]) => void;
  disabled: boolean;
}

/** The privileges of a policy; those without meaning in it are kept and marked. */
export function What({ realm, vocabulary, info, base, onChange, disabled }: WhatProps) {
  const isPlatform = info.type === "PLATFORM";
  const declared = vocabulary?.privileges ?? [];
  const byName = new Map(declared.map((one) => [one.name, one]));
  const fit = fitting(declared, isPlatform, typesOf(info));
  const fits = new Set(fit.map((one) => one.name));
  const held = info.privileges.filter((name) => fits.has(name));
  const fault = (name: string) =>
    declared.length === 0 || fits.has(name)
      ? undefined
      : byName.has(name)
        ? isPlatform
          ? t("not of the platform")
          : t("not for these assets")
        : t("not known to this version");
  return (
    <Section
      title={t("What")}
      note={
        isPlatform
          ? t(
              "privileges, {n} of {all}; they are about DataHub as a whole, so no assets are chosen",
              {
                n: held.length,
                all: fit.length,
              },
            )
          : t("privileges, {n} of {all} that fit these assets", {
              n: held.length,
              all: fit.length,
            })
      }
    >
      <Tokens
        label={t("Privileges")}
        values={info.privileges}
        onChange={onChange}
        suggest={suggestPrivilege(fit, info.privileges)}
        source={`privileges ${realm} ${info.type} ${info.privileges.join()} ${typesOf(info).join()}`}
        show={(name) => byName.get(name)?.display ?? name}
        fault={fault}
        isNew={(name) => !base.privileges.includes(name)}
        read={(text) => readPrivilege(fit, text)}
        placeholder={t("Add a privilege")}
        disabled={disabled}
      />
    </Section>
  );
}

/** The types that the criteria require; none: assets of every type. */
function typesOf(info: PolicyInfo): string[] {
  const criteria = info.resources?.filter?.criteria ?? [];
  const types = criteria.filter(
    (one) => one.field === "TYPE" && (one.condition ?? "EQUALS") === "EQUALS",
  );
  return types.flatMap((one) => one.values);
}
