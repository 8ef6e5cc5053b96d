/**
 * A number that is fresh every `everyMs` for as long as the component that made it lives: reading
 * `now()` in markup makes it follow.
 */
export function ticker<T>(read: () => T, everyMs: number): { readonly now: T } {
	let value = $state.raw(read());
	$effect(() => {
		value = read();
		const timer = setInterval(() => (value = read()), everyMs);
		return () => clearInterval(timer);
	});
	return {
		get now() {
			return value;
		},
	};
}
