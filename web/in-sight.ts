/** A scroll's length before it is seen. */
const MARGIN = '600px';

const waiting = new WeakMap<Element, () => void>();
let observer: IntersectionObserver | undefined;

/** Calls `then` when the element comes near to being seen; instead of an earlier `then` of it. */
export function onceInSight(element: Element, then: () => void) {
	observer ??= new IntersectionObserver(
		(entries) => {
			for (const { target, isIntersecting } of entries) {
				if (!isIntersecting) continue;
				observer!.unobserve(target);
				waiting.get(target)?.();
				waiting.delete(target);
			}
		},
		// Of every scroller that it is in, where browsers know that; else of the window.
		{ rootMargin: MARGIN, scrollMargin: MARGIN } as IntersectionObserverInit,
	);
	waiting.set(element, then);
	observer.observe(element);
}
