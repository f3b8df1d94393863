import { useEffect, useState } from "react";

/** A value after it has not changed for a while. */
export function useSettled<Value>(value: Value, wait: number): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => {
      setSettled(value);
    }, wait);
    return () => {
      clearTimeout(timer);
    };
  }, [value, wait]);
  return settled;
}
