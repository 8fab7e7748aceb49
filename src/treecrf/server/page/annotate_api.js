// Requests of the annotation page.
import { post, requestJson } from "./api.js";

const address = (name, values) => `annotation/${name}?${new URLSearchParams(values)}`;

export const getInfo = () => requestJson("annotation/info");
export const getQueue = (annotator, order) => requestJson(address("queue", { annotator, order }));
export const getSentence = (annotator, number) => requestJson(address(`sentences/${number}`, { annotator }));
export const searchTrees = (annotator, pattern) => requestJson(address("search", { annotator, pattern }));
export const getAgreement = (annotator, other) => requestJson(address("agreement", { annotator, other }));
export const useModel = (model) => post("annotation/model", { model });
export const sendEvent = (annotator, event) => post(address("events", { annotator }), event);
